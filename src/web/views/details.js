// What is known of single runs beside the model, which comes later.

import { useEffect, useState } from "preact/hooks";

const RETRY_MS = 3000;

/**
 * {uids, details} of the runs wanted last that have come: of each {values, told, series, lanes}, or null where they are
 * not at hand. Of a server they are asked for until they come.
 */
export function useDetails({ source }, uids) {
  const [got, take] = useState({ uids: [], details: [] });
  useEffect(() => {
    let isWanted = true;
    const ask = async () => {
      const details = await Promise.all(uids.map((uid) => source.details(uid).catch(() => null)));
      if (!isWanted) return;
      take({ uids, details });
      if (source.live && details.includes(null)) setTimeout(() => isWanted && ask(), RETRY_MS);
    };
    ask();
    return () => { isWanted = false; };
  }, [uids.join()]);
  return got;
}
