"""Counts what botocore and aiobotocore send, boto3 and s3fs with them, as stores bill it: as assay-worker counts its own
(src/engine/train/connector_run/request_meter.h)."""

import multiprocessing
import re
import urllib.parse

FIELDS = ("read_requests", "write_requests", "retries", "received_bytes", "sent_bytes")
#: Of this process and those that are forked from it.
COUNTS = multiprocessing.Array("q", len(FIELDS))
#: A process that is killed may hold the lock for ever; a count is not worth that wait.
LOCK_SECONDS = 1


def totals():
    return dict(zip(FIELDS, COUNTS.get_obj(), strict=True))


def length_of(headers):
    return int(next((value for name, value in headers.items() if name.lower() == "content-length"), 0))


def counts_of(method, url, sent, status, received):
    """What a request adds to the fields but for the retries; `status` is 0 where no answer came."""
    asked = urllib.parse.parse_qs(urllib.parse.urlsplit(url).query, keep_blank_values=True)
    lists = method == "GET" and not asked.keys().isdisjoint({"list-type", "prefix", "uploads"})
    is_billed = 0 < status < 500 and method != "DELETE" and "delete" not in asked
    reads = is_billed and not lists and method in ("GET", "HEAD")
    writes = is_billed and (lists or method in ("PUT", "POST"))
    return {
        "read_requests": int(reads),
        "write_requests": int(writes),
        "received_bytes": 0 if method == "HEAD" else length_of(received),
        "sent_bytes": length_of(sent),
    }


def count(request, status, received):
    attempt = re.search(r"attempt=(\d+)", str(request.headers.get("amz-sdk-request", "")))
    added = counts_of(request.method, request.url, request.headers, status, received)
    added["retries"] = int(attempt is not None and int(attempt[1]) > 1)
    if COUNTS.get_lock().acquire(timeout=LOCK_SECONDS):
        for place, name in enumerate(FIELDS):
            COUNTS.get_obj()[place] += added[name]
        COUNTS.get_lock().release()


def begin():
    """From here on requests are counted; once a process."""
    assert multiprocessing.get_start_method() == "fork", "processes that are not forks count for themselves"
    import aiobotocore.httpsession
    import botocore.httpsession

    send = botocore.httpsession.URLLib3Session.send
    send_async = aiobotocore.httpsession.AIOHTTPSession.send

    def counting(self, request):
        try:
            answer = send(self, request)
        except BaseException:
            count(request, 0, {})
            raise
        count(request, answer.status_code, answer.headers)
        return answer

    async def counting_async(self, request):
        try:
            answer = await send_async(self, request)
        except BaseException:
            count(request, 0, {})
            raise
        count(request, answer.status_code, answer.headers)
        return answer

    botocore.httpsession.URLLib3Session.send = counting
    aiobotocore.httpsession.AIOHTTPSession.send = counting_async
