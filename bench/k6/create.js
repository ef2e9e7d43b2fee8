// Creates ConfigMaps through the Kubernetes API, under new names: what
// `kube: {create: {resource: configmaps}}` does in a closed loop of plimsoll.
//
// STYLE says how:
//   usual  the body by JSON.stringify(), the answer kept;
//   tuned  the text around the name made once, the answer read and thrown away.
import http from 'k6/http';
import exec from 'k6/execution';
import encoding from 'k6/encoding';

const idle = __ENV.IDLE === '1'; // only what k6 costs without any request
const clients = Number(__ENV.CLIENTS);

export const options = {
  scenarios: {
    create: {
      executor: 'shared-iterations',
      vus: clients,
      iterations: idle ? clients : Number(__ENV.OBJECTS),
      maxDuration: '30m',
    },
  },
  // A VU has one transport, and so, over HTTP/2, one connection. The server's
  // certificate is checked, against SSL_CERT_FILE. k6 asks for no compression.
  tlsAuth: [{ cert: open(`${__ENV.SECRETS}/load.crt`), key: open(`${__ENV.SECRETS}/load.key`) }],
  discardResponseBodies: __ENV.STYLE === 'tuned',
};

const params = {
  headers: { Accept: 'application/json', 'Content-Type': 'application/json' },
  tags: { name: 'create' },
};
const payload = encoding.b64encode('a'.repeat(Number(__ENV.PAYLOAD)));
const before = `{"apiVersion":"v1","kind":"ConfigMap","data":{"data":"${payload}"},"metadata":{"labels":{"plimsoll.dev/run":"bench"},"name":"`;
const after = `","namespace":"${__ENV.NAMESPACE}"}}`;

const bodies = {
  usual: (name) =>
    JSON.stringify({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name, namespace: __ENV.NAMESPACE, labels: { 'plimsoll.dev/run': 'bench' } },
      data: { data: payload },
    }),
  tuned: (name) => `${before}${name}${after}`,
};
const body = bodies[__ENV.STYLE];
const prefix = __ENV.PREFIX || 'k6'; // of names, for those who create more than once on a server

export default function () {
  if (idle) return;
  const made = http.post(__ENV.COLLECTION, body(`${prefix}-${__VU}-${__ITER}`), params);
  if (made.status !== 201) exec.test.abort(`a create answers ${made.status} ${made.error}`);
}

export function handleSummary(data) {
  const requests = data.metrics.http_reqs ? data.metrics.http_reqs.values.count : 0;
  return { stdout: `requests ${requests} seconds ${data.state.testRunDurationMs / 1000}\n` };
}
