// Walks over a list of the Kubernetes API, page by page, until no page is left:
// what `kube: {list: {pageSize: …}}` does in a closed loop of plimsoll.
//
// READ says how a page is read:
//   select  the token and the number of items by k6's selectors, which is the
//           same work as plimsoll's and the cheapest way to it that k6 offers;
//   decode  the same by response.json(), the usual way;
//   skim    the token alone, out of the first kilobyte: less than plimsoll does.
import http from 'k6/http';
import exec from 'k6/execution';

const idle = __ENV.IDLE === '1'; // only what k6 costs without any request
const clients = Number(__ENV.CLIENTS);

export const options = {
  scenarios: {
    walk: {
      executor: 'shared-iterations',
      vus: clients,
      iterations: idle ? clients : Number(__ENV.WALKS),
      maxDuration: '30m',
    },
  },
  // A VU has one transport, and so, over HTTP/2, one connection. The server's
  // certificate is checked, against SSL_CERT_FILE. k6 asks for no compression.
  tlsAuth: [{ cert: open(`${__ENV.SECRETS}/load.crt`), key: open(`${__ENV.SECRETS}/load.key`) }],
};

const skim = __ENV.READ === 'skim';
const params = {
  headers: { Accept: 'application/json' },
  responseType: skim ? 'binary' : 'text',
  tags: { name: 'page' }, // or each token would be a time series of its own
};
const mark = '"continue":"';

const readers = {
  select(page) {
    return { token: page.json('metadata.continue') || '', items: page.json('items.#') };
  },
  decode(page) {
    const list = page.json();
    return { token: list.metadata.continue || '', items: list.items.length };
  },
  skim(page) {
    const head = String.fromCharCode.apply(null, new Uint8Array(page.body.slice(0, 1024)));
    const at = head.indexOf(mark);
    return { token: at < 0 ? '' : head.slice(at + mark.length, head.indexOf('"', at + mark.length)) };
  },
};
const read = readers[__ENV.READ];

export default function () {
  if (idle) return;
  let token = '';
  do {
    const after = token === '' ? '' : `&continue=${encodeURIComponent(token)}`;
    const page = http.get(`${__ENV.LIST}?limit=${__ENV.LIMIT}${after}`, params);
    if (page.status !== 200) exec.test.abort(`a page answers ${page.status} ${page.error}`);
    const found = read(page);
    if (found.items === 0) exec.test.abort('a page without items');
    token = found.token;
  } while (token !== '');
}

export function handleSummary(data) {
  const requests = data.metrics.http_reqs ? data.metrics.http_reqs.values.count : 0;
  return { stdout: `requests ${requests} seconds ${data.state.testRunDurationMs / 1000}\n` };
}
