// Keeps the page's own files, so that it opens without network. The build fills in their names; the
// conversations are in IndexedDB, and nothing of them passes through here.
const CACHE = 'turnlog-chat-__VERSION__'
const FILES = ['__FILES__']

self.addEventListener('install', (event) => {
  // Past the HTTP cache: an old file under a new version would stay for good.
  const requests = FILES.map((file) => new Request(file, { cache: 'reload' }))
  event.waitUntil(
    caches
      .open(CACHE)
      .then((cache) => cache.addAll(requests))
      .then(() => self.skipWaiting()),
  )
})

self.addEventListener('activate', (event) => {
  event.waitUntil(
    caches
      .keys()
      .then((names) =>
        Promise.all(
          names
            .filter((name) => name.startsWith('turnlog-chat-') && name !== CACHE)
            .map((name) => caches.delete(name)),
        ),
      )
      .then(() => self.clients.claim()),
  )
})

self.addEventListener('fetch', (event) => {
  const { request } = event
  const url = new URL(request.url)
  if (request.method !== 'GET' || url.origin !== location.origin) return
  if (url.pathname.startsWith('/api/')) return
  const key = request.mode === 'navigate' ? '/' : request
  event.respondWith(caches.match(key).then((stored) => stored ?? fetch(request)))
})
