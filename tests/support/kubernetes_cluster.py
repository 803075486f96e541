"""An API server of Kubernetes of a test's own, whose pods are processes of this machine.

It takes what `kubernetes_validate` finds valid by the schemas that Kubernetes publishes, unknown fields refused; sets
of jobs by what of JobSet's schema stands below, with the job of the set as Kubernetes has it. A pod starts when a
machine has room for it; images are not run: the first container's command is.
"""

import contextlib
import http.server
import json
import os
import pathlib
import re
import signal
import subprocess
import threading
import urllib.parse

import jsonschema
import kubernetes_validate

SCHEMA_VERSION = "1.31"
JOBS = {
    "Job": "/apis/batch/v1/namespaces/team/jobs",
    "JobSet": "/apis/jobset.x-k8s.io/v1alpha2/namespaces/team/jobsets",
}
PODS = "/api/v1/namespaces/team/pods"


# What JobSet 0.8 to 0.12 take, as far as a set of one kind of job has it (jobset.x-k8s.io/v1alpha2).
JOB_SET_SCHEMA = {
    "type": "object",
    "required": ["apiVersion", "kind", "metadata", "spec"],
    "additionalProperties": False,
    "properties": {
        "apiVersion": {"const": "jobset.x-k8s.io/v1alpha2"},
        "kind": {"const": "JobSet"},
        "metadata": {"type": "object"},
        "spec": {
            "type": "object",
            "required": ["replicatedJobs"],
            "additionalProperties": False,
            "properties": {
                "suspend": {"type": "boolean"},
                "ttlSecondsAfterFinished": {"type": "integer", "minimum": 0},
                "failurePolicy": {
                    "type": "object",
                    "additionalProperties": False,
                    "properties": {"maxRestarts": {"type": "integer", "minimum": 0}},
                },
                "replicatedJobs": {
                    "type": "array",
                    "minItems": 1,
                    "items": {
                        "type": "object",
                        "required": ["name", "template"],
                        "additionalProperties": False,
                        "properties": {
                            "name": {"type": "string", "pattern": "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"},
                            "replicas": {"type": "integer", "minimum": 0},
                            "template": {"type": "object"},
                        },
                    },
                },
            },
        },
    },
}


def job_of(asked):
    """The job that is asked for, or that of the set of one."""
    if asked["kind"] == "Job":
        return asked
    jsonschema.validate(asked, JOB_SET_SCHEMA)
    (of_ranks,) = asked["spec"]["replicatedJobs"]
    metadata = {"name": f"{asked['metadata']['name']}-{of_ranks['name']}-0"}
    template = of_ranks["template"]
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": template.get("metadata", {}) | metadata} | template


def processes_of(pid):
    """It and all below it: what a container holds, which ends as a whole."""
    found = [pid]
    for parent in found:
        for children in pathlib.Path(f"/proc/{parent}/task").glob("*/children"):
            with contextlib.suppress(OSError):
                found += [int(child) for child in children.read_text().split()]
    return found


class Pod:
    """Of a job's index, on a machine of the cluster or on none yet."""

    def __init__(self, job, index, cluster):
        self.job, self.index, self.cluster = job, index, cluster
        self.spec = job["spec"]["template"]["spec"]
        self.labels = job["spec"]["template"].get("metadata", {}).get("labels", {})
        self.node = None
        self.process = None
        self.end = {}  # of its container, where that was not the command's own
        self.deleted = False

    def start(self, node):
        self.node = node
        container = self.spec["containers"][0]
        environment = dict(self.cluster.environment, JOB_COMPLETION_INDEX=str(self.index))
        for variable in container["env"]:
            environment[variable["name"]] = variable.get("value", "127.0.0.1")  # the one field asked for is its address
        self.process = subprocess.Popen(
            container["command"],
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    def kill(self):
        if self.process and self.process.poll() is None:
            for pid in processes_of(self.process.pid):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            self.process.wait()

    def run_out_of_memory(self):
        """The kernel ends all of the container, as kubelet asks of it."""
        self.kill()
        self.end = {"reason": "OOMKilled", "exitCode": 137}

    def status(self):
        if self.end:
            name = self.spec["containers"][0]["name"]
            return {"containerStatuses": [{"name": name, "state": {"terminated": self.end}}]}
        if self.spec["containers"][0]["image"] not in self.cluster.images:
            waiting = {"reason": "ErrImagePull", "message": "no such image"}
            return {"containerStatuses": [{"name": "a", "state": {"waiting": waiting}}]}
        if self.node is None:
            reason = f"0/{len(self.cluster.nodes)} nodes are available"
            return {"conditions": [{"type": "PodScheduled", "status": "False", "message": reason}]}
        return {"phase": "Running" if self.process.poll() is None else "Succeeded"}


class Kubernetes:
    """`nodes` maps names to what they have. `sees_nodes`: whether the account may list them. `kind`: of its jobs."""

    def __init__(
        self, folder, nodes, version="v1.31.2", token="secret", images=("assay:1",), sees_nodes=True, kind="Job"
    ):
        self.nodes, self.version, self.token, self.images = nodes, version, token, images
        self.sees_nodes, self.kind = sees_nodes, kind
        self.node_lists = 0  # that were asked for
        self.bad_answers = []  # status of the next jobs' answers, and whether the job is created all the same
        self.images_after = []  # which there are once each of the next jobs has its pods
        self.environment = dict(os.environ)
        self.lock = threading.RLock()
        self.jobs, self.pods, self.created = {}, {}, []
        self.account = pathlib.Path(folder) / "account"
        self.account.mkdir(parents=True)
        (self.account / "token").write_text(token + "\n")
        (self.account / "namespace").write_text("team")
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), self.handler())
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def stop(self):
        self.server.shutdown()
        self.server.server_close()
        for pods in self.pods.values():
            for pod in pods:
                pod.kill()

    def handler(self):
        cluster = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def answer(self, method):
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                authorised = self.headers.get("Authorization") == f"Bearer {cluster.token}"
                with cluster.lock:
                    status, said = cluster.answer(method, self.path, body) if authorised else (401, "Unauthorized")
                if isinstance(said, str):
                    said = {"kind": "Status", "message": said, "code": status}
                text = json.dumps(said).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            def do_GET(self):
                self.answer("GET")

            def do_POST(self):
                self.answer("POST")

            def do_DELETE(self):
                self.answer("DELETE")

            def log_message(self, *_):
                pass

        return Handler

    def answer(self, method, path, body):
        url = urllib.parse.urlsplit(path)
        jobs = JOBS[self.kind]
        name = url.path.removeprefix(jobs + "/")
        if (method, url.path) == ("GET", "/version"):
            return 200, {"gitVersion": self.version}
        if (method, url.path) == ("GET", "/api/v1/nodes"):
            self.node_lists += 1
            items = [{"status": {"allocatable": has}} for has in self.nodes.values()]
            return (200, {"items": items}) if self.sees_nodes else (403, "nodes is forbidden")
        if (method, url.path) == ("GET", PODS):
            (selector,) = urllib.parse.parse_qs(url.query)["labelSelector"]
            self.schedule()
            label, value = selector.split("=")
            pods = [pod for pods in self.pods.values() for pod in pods if pod.labels.get(label) == value]
            return 200, {"items": [{"spec": pod.spec, "status": pod.status()} for pod in pods]}
        if (method, url.path) == ("POST", jobs):
            return self.create_on_a_bad_day(json.loads(body))
        if name not in self.jobs:
            return 404, f'jobs.batch "{name}" not found'
        if method == "DELETE":
            for pod in self.pods.pop(name):
                pod.kill()
            return 200, self.jobs.pop(name)
        self.schedule()
        return 200, self.jobs[name] | {"status": self.status(name)}

    def create_on_a_bad_day(self, job):
        if not self.bad_answers:
            return self.create(job)
        status, creates = self.bad_answers.pop(0)
        if creates:
            self.create(job)
        return status, "not now"

    def create(self, asked):
        try:
            job = job_of(asked)
            kubernetes_validate.validate(job, SCHEMA_VERSION, strict=True)
        except (jsonschema.ValidationError, kubernetes_validate.ValidationError) as error:
            return 422, f"{'.'.join(map(str, error.path))}: {error.message}"
        name = asked["metadata"]["name"]
        if not re.fullmatch(r"[a-z0-9]([-a-z0-9]{0,58}[a-z0-9])?", name):
            return 422, f"{name} cannot be a job's name"  # its pods' names have an index more
        if name in self.jobs:
            return 409, {"kind": "Status", "reason": "AlreadyExists", "message": f"{name} already exists"}
        self.jobs[name] = asked
        self.created.append(asked)
        self.pods[name] = [Pod(job, index, self) for index in range(job["spec"]["completions"])]
        self.schedule()
        if self.images_after:
            self.images = self.images_after.pop(0)
        return 201, asked

    def schedule(self):
        """Places pods that wait, those of one job on machines of their own where it says so."""
        for pods in self.pods.values():
            for pod in pods:
                if pod.node is None and pod.spec["containers"][0]["image"] in self.images:
                    apart = "podAntiAffinity" in pod.spec.get("affinity", {})
                    taken = {other.node for other in pods} if apart else set()
                    node = next((n for n in self.nodes if n not in taken and self.has_room(n, pod)), None)
                    if node is not None:
                        pod.start(node)

    def has_room(self, node, pod):
        def used(resource):
            running = [p for pods in self.pods.values() for p in pods if p.node == node and p.process.poll() is None]
            return sum(float(p.spec["containers"][0]["resources"]["requests"].get(resource, 0)) for p in running)

        asked = pod.spec["containers"][0]["resources"]["requests"]
        return all(used(name) + float(amount) <= float(self.nodes[node].get(name, 0)) for name, amount in asked.items())

    def status(self, name):
        codes = [pod.process.poll() if pod.process else None for pod in self.pods[name]]
        if any(code not in (None, 0) for code in codes):
            for pod in self.pods[name]:
                pod.kill()
            reason = {"reason": "BackoffLimitExceeded", "message": "Job has reached the specified backoff limit"}
            return {"conditions": [{"type": "Failed", "status": "True", **reason}]}
        if all(code == 0 for code in codes):
            complete = "Complete" if self.kind == "Job" else "Completed"
            return {"conditions": [{"type": complete, "status": "True"}], "succeeded": len(codes)}
        running = sum(pod.process is not None and pod.process.poll() is None for pod in self.pods[name])
        if self.kind == "JobSet":
            return {"replicatedJobsStatus": [{"name": "ranks", "active": 1, "ready": int(running == len(codes))}]}
        return {"active": len(codes), "ready": running}
