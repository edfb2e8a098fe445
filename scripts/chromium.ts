// Finds a Chromium for the browser tests, the demo and the benchmarks, so that a clone needs
// nothing but npm: an installed one first, the one inside `@sparticuz/chromium` last.
import { execFileSync, spawnSync } from 'node:child_process'
import {
  accessSync,
  constants,
  existsSync,
  mkdirSync,
  mkdtempSync,
  renameSync,
  rmSync,
} from 'node:fs'
import { createRequire } from 'node:module'
import { delimiter, dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { root } from './entries.ts'

export interface FoundChromium {
  readonly executablePath: string
  /** Flags to launch it with, next to what Playwright sets. */
  readonly args: readonly string[]
  /** The whole environment to launch it with, or `undefined` to keep the process's own. */
  readonly env: Readonly<Record<string, string>> | undefined
  /** Where it comes from, for a person to read. */
  readonly source: string
}

/** @throws an `Error` that says what to install, when there is no Chromium at all. */
export async function findChromium(): Promise<FoundChromium> {
  const found = fromEnvironment() ?? fromPath() ?? (await fromPlaywright()) ?? fromPackage()
  if (found) return { env: undefined, ...found, args: launchFlags() }
  throw new Error(
    'No Chromium found. Install Google Chrome or Chromium, or run `npx playwright install chromium`, ' +
      'or set CHROMIUM_PATH to an executable. (The Chromium that comes with npm ci is for Linux on ' +
      `x64 only; this is ${process.platform} on ${process.arch}.)`,
  )
}

type Found = Omit<FoundChromium, 'args' | 'env'> & Partial<Pick<FoundChromium, 'env'>>

function launchFlags(): string[] {
  const flags = [
    // Without network, Chromium otherwise keeps trying to reach its update and sync services.
    '--disable-background-networking',
    '--disable-component-update',
    '--disable-sync',
    '--disable-quic',
    '--no-first-run',
  ]
  // Chromium refuses to start its sandbox as root.
  if (process.getuid?.() === 0) flags.push('--no-sandbox')
  return flags
}

function fromEnvironment(): Found | undefined {
  const executablePath = process.env['CHROMIUM_PATH']
  if (!executablePath) return undefined
  if (!isExecutable(executablePath)) {
    throw new Error(`CHROMIUM_PATH is ${executablePath}, which is not an executable file`)
  }
  return { executablePath, source: 'CHROMIUM_PATH' }
}

function fromPath(): Found | undefined {
  const names = ['google-chrome', 'google-chrome-stable', 'chromium', 'chromium-browser']
  const folders = (process.env['PATH'] ?? '').split(delimiter).filter(Boolean)
  const candidates = names.flatMap((name) => folders.map((folder) => join(folder, name)))
  if (process.platform === 'darwin') {
    candidates.push(
      '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
      '/Applications/Chromium.app/Contents/MacOS/Chromium',
    )
  }
  if (process.platform === 'win32') {
    for (const variable of ['PROGRAMFILES', 'PROGRAMFILES(X86)', 'LOCALAPPDATA']) {
      const folder = process.env[variable]
      if (!folder) continue
      candidates.push(join(folder, 'Google/Chrome/Application/chrome.exe'))
      candidates.push(join(folder, 'Chromium/Application/chrome.exe'))
    }
  }
  const executablePath = candidates.find(isExecutable)
  return executablePath === undefined
    ? undefined
    : { executablePath, source: 'installed on this machine' }
}

async function fromPlaywright(): Promise<Found | undefined> {
  const { chromium } = await import('playwright')
  const executablePath = chromium.executablePath()
  return isExecutable(executablePath)
    ? { executablePath, source: 'installed by Playwright' }
    : undefined
}

/**
 * The package unpacks into the system's temporary folder and takes what lies there for granted, a
 * half-written file of a second process included. So it unpacks into a folder of its own here,
 * which is then renamed to its final place.
 */
function fromPackage(): Found | undefined {
  if (process.platform !== 'linux' || process.arch !== 'x64') return undefined
  const entry = createRequire(import.meta.url).resolve('@sparticuz/chromium')
  const { version } = createRequire(import.meta.url)(join(dirname(entry), '../package.json'))
  const cache = join(root, 'node_modules/.cache/turnlog')
  const folder = join(cache, `chromium-${version}`)
  if (!existsSync(folder)) {
    mkdirSync(cache, { recursive: true })
    const staging = mkdtempSync(join(cache, 'unpack-'))
    // AWS_EXECUTION_ENV makes it unpack the system libraries too that a bare machine lacks.
    execFileSync(
      process.execPath,
      ['--input-type=module', '-e', unpackScript(pathToFileURL(entry).href)],
      { env: { ...process.env, TMPDIR: staging, AWS_EXECUTION_ENV: 'AWS_Lambda_nodejs24.x' } },
    )
    try {
      renameSync(staging, folder)
    } catch (error) {
      rmSync(staging, { recursive: true, force: true })
      if (!existsSync(folder)) throw error // otherwise another process was faster
    }
  }
  const executablePath = join(folder, 'chromium')
  return {
    executablePath,
    env: packageEnvironment(folder),
    source: `@sparticuz/chromium ${version}`,
  }
}

function unpackScript(entry: string): string {
  return `const { default: chromium } = await import(${JSON.stringify(entry)}); await chromium.executablePath()`
}

function packageEnvironment(folder: string): Record<string, string> | undefined {
  const changes: Record<string, string> = {}
  const { stdout } = spawnSync('ldd', [join(folder, 'chromium')], { encoding: 'utf8' })
  if (stdout?.includes('not found')) {
    const own = process.env['LD_LIBRARY_PATH']
    const libraries = join(folder, 'al2023/lib')
    changes['LD_LIBRARY_PATH'] = own ? `${libraries}${delimiter}${own}` : libraries
  }
  if (!existsSync('/etc/fonts/fonts.conf')) changes['FONTCONFIG_PATH'] = join(folder, 'fonts')
  if (Object.keys(changes).length === 0) return undefined
  const own = Object.entries(process.env).filter((pair): pair is [string, string] => !!pair[1])
  return { ...Object.fromEntries(own), ...changes }
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}

// `node scripts/chromium.ts` says which one it is.
if (import.meta.main) {
  const { executablePath, source } = await findChromium()
  console.log(`Chromium: ${executablePath} (${source})`)
}
