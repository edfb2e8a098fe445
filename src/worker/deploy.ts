/** The Worker to deploy (`main` in wrangler.toml). */

import { createDeployment } from './deployment.ts'

export { SessionStore } from './session-store.ts'

export default createDeployment()
