/** Draws the page, and lets it open without network from then on. */

import { createRoot } from 'react-dom/client'
import { App } from './app.tsx'
import './styles.css'

const root = document.getElementById('root')
if (root !== null) createRoot(root).render(<App />)

// Not there on plain-http pages; `vite` without a build has no such file.
if (import.meta.env.PROD && 'serviceWorker' in navigator) {
  navigator.serviceWorker.register('/service-worker.js').catch((error: unknown) => {
    console.warn('The page will not open without network:', error)
  })
}
