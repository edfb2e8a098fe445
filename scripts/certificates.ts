// workerd does not start on a machine without root certificates, even when nothing it runs needs
// the network (a slim container image, for instance). Node brings its own: lend them.
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { rootCertificates } from 'node:tls'
import { root } from './entries.ts'

const systemStores = [
  '/etc/ssl/certs/ca-certificates.crt', // Debian, Ubuntu, Arch, Alpine
  '/etc/pki/tls/certs/ca-bundle.crt', // Fedora, RHEL
  '/etc/ssl/ca-bundle.pem', // openSUSE
  '/etc/ssl/cert.pem', // Alpine, BSD
]

/** Sets `SSL_CERT_FILE` for this process and its children where Linux has no store of its own. */
export function lendCertificates(): void {
  const stores = [process.env['SSL_CERT_FILE'] ?? '', ...systemStores]
  if (process.platform !== 'linux' || stores.some((file) => existsSync(file))) return
  const folder = join(root, 'node_modules/.cache/turnlog')
  const file = join(folder, 'certificates.pem')
  mkdirSync(folder, { recursive: true })
  writeFileSync(file, rootCertificates.join('\n'))
  process.env['SSL_CERT_FILE'] = file
}
