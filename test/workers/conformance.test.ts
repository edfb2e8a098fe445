// The conformance vectors against the Durable Object.
import { env } from 'cloudflare:workers'
import { describeVectors } from '../conformance/describe-vectors.ts'
import { durableObjectHarness } from './durable-object-harness.ts'

describeVectors(durableObjectHarness(env.SESSIONS, 'conformance'))
