/** All routes of the API. */

import { type ChangeOptions, changeRoutes } from './change-routes.ts'
import { eventRoutes } from './event-routes.ts'
import type { Route } from './route.ts'
import { sessionRoutes } from './session-routes.ts'
import { toolRoutes } from './tool-routes.ts'
import { transferRoutes } from './transfer-routes.ts'

export function listRoutes(
  options: ChangeOptions & { readonly crossSessionSearch: boolean },
): readonly Route[] {
  return [
    ...sessionRoutes,
    ...eventRoutes,
    ...transferRoutes,
    ...changeRoutes(options),
    ...toolRoutes(options.crossSessionSearch),
  ]
}
