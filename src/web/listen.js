// What a server tells, for all windows of a browser: it has six connections to a server for all of them together.

/** Of a server that is there something is heard every 15 s. */
const SILENT_MS = 50_000;
const RETRY_MS = 3000;
/** Who listens gives a sign so often; after so long without one another window listens. */
const SIGN_MS = 1000;
const LOST_MS = 3000;
const GREETING_MS = 150;

/**
 * Calls `on[name](data)` with what the server tells, and `on.connected(boolean)`, while the page is seen. One window
 * listens and tells the others; of several that do the one that began last goes on: another one that slept, or whose
 * timers stood still, hears of it and leaves off.
 */
export function listen(url, on) {
  const windows = new BroadcastChannel(url);
  const last = new Map();
  // When this window began to listen; 0: it does not.
  let [began, stream, timer] = [0, null, 0];
  const isHidden = () => document.visibilityState === "hidden";
  const send = (name, data) => windows.postMessage({ name, data, by: began });
  const beginIn = (milliseconds) => {
    clearTimeout(timer);
    timer = setTimeout(begin, milliseconds);
  };
  const end = () => {
    clearTimeout(timer);
    stream?.close();
    began = 0;
    last.clear();
  };
  const tell = (name, data) => {
    last.set(name, data);
    send(name, data);
    on[name]?.(data);
  };

  /** Anew after a long silence too: that a connection is dead no browser says. */
  function begin() {
    if (began) tell("connected", false);
    end();
    began = Date.now() + Math.random();
    stream = new EventSource(url);
    stream.onopen = () => tell("connected", true);
    stream.onerror = () => {
      tell("connected", false);
      // The browser connects again by itself, but not after an answer that is no stream.
      if (stream.readyState === EventSource.CLOSED) beginIn(RETRY_MS);
    };
    for (const name of ["store", "problem", "live", "beat"]) {
      stream.addEventListener(name, ({ data }) => {
        beginIn(SILENT_MS);
        tell(name, JSON.parse(data));
      });
    }
    tell("sign");
    beginIn(SILENT_MS);
  }

  const leave = () => {
    if (began) send("left");
    end();
  };
  const come = () => {
    leave();
    if (isHidden()) return;
    send("hello");
    beginIn(GREETING_MS);
  };
  windows.onmessage = ({ data: { name, data, by } }) => {
    if (name === "hello") {
      last.forEach((said, told) => send(told, said));
    } else if (by > began && !isHidden()) {
      if (began) end();
      beginIn(name === "left" ? GREETING_MS * Math.random() : LOST_MS);
      on[name]?.(data);
    }
  };
  setInterval(() => began && send("sign"), SIGN_MS);
  document.addEventListener("visibilitychange", come);
  addEventListener("pagehide", leave);
  come();
}
