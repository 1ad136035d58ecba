import { readFileSync } from 'node:fs';
import { NativeConnectionOptions } from '@temporalio/worker';

/**
 * How the environment says the server is reached: in plain text, or with TLS, a client certificate and an API key.
 */
export function connectionOptions(): Pick<NativeConnectionOptions, 'address' | 'apiKey' | 'tls'> {
  const { env } = process;
  const apiKey = env.TEMPORAL_API_KEY || undefined;
  const address = env.TEMPORAL_ADDRESS;
  if (!env.TEMPORAL_TLS_SERVER_CA_CERT_PATH) return { address, apiKey };
  const serverRootCACertificate = readFileSync(env.TEMPORAL_TLS_SERVER_CA_CERT_PATH);
  const { TEMPORAL_TLS_CLIENT_CERT_PATH: crt, TEMPORAL_TLS_CLIENT_KEY_PATH: key } = env;
  const clientCertPair = crt && key ? { crt: readFileSync(crt), key: readFileSync(key) } : undefined;
  return { address, apiKey, tls: { serverRootCACertificate, clientCertPair } };
}
