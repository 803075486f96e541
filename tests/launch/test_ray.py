"""Points on a real Ray cluster: a head that runs no ranks, and raylets that do."""

import contextlib
import http.server
import json
import threading

import psutil
import pytest
import ray_cluster
from launched import end_a_run_early, measurements, run_space, wait_until, workers_of
from ports import free_port

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(scope="module")
def cluster():
    started = ray_cluster.Cluster(machines=2, cpus=2)
    yield started
    started.stop()


@pytest.fixture
def ray(assay, cluster):
    assay.env |= {"ASSAY_RAY_PYTHON": str(ray_cluster.PYTHON), "RAY_AUTH_TOKEN": ray_cluster.TOKEN}
    yield ["--launcher", "ray", "--address", cluster.address]
    assert wait_until(lambda: not cluster.running_jobs()), "a job is left"
    assert wait_until(lambda: not workers_of(assay)), "a worker is left"


def store_of(tmp_path, name="store"):
    return f"sqlite:///{tmp_path}/{name}.db"


def test_points_are_measured_as_they_are_locally(assay, space, ray, tmp_path):
    out = run_space(assay, space, store_of(tmp_path), 1, *ray)
    assert "4 points: 4 measured" in out
    run_space(assay, space, store_of(tmp_path, "local"), 1)
    pairs = zip(
        measurements(assay, space, store_of(tmp_path)),
        measurements(assay, space, store_of(tmp_path, "local")),
    )
    for here, local in pairs:
        assert here["entity"] == local["entity"]
        assert here["properties"].keys() == local["properties"].keys()
        assert here["series"].keys() == local["series"].keys()
        assert here["provenance"]["host"] == local["provenance"]["host"]
        assert here["provenance"]["threads"] == "1"
    replayed = run_space(assay, space, store_of(tmp_path), 1, *ray)
    assert "4 replayed" in replayed


def test_ranks_of_a_point_spread_over_machines(assay, space, ray, tmp_path):
    nodes = "  - { identifier: number_nodes, propertyDomain: { values: [2] } }\n"
    space.write_text(space.read_text().replace("experiments:\n", nodes + "experiments:\n"))
    run_space(assay, space, store_of(tmp_path), 2, "--max-points", 1, *ray)
    (measured,) = measurements(assay, space, store_of(tmp_path))
    assert measured["outcome"] == "valid", measured["reason"]
    assert "gloo" in measured["provenance"]["communicator"]


def test_a_lost_machine_fails_the_run_and_another_takes_it(assay, space, ray, cluster, tmp_path):
    space.write_text(space.read_text().replace("value: 2", "value: 3000", 1))
    cluster.add_machine(3, resources={"doomed": 1})  # the largest, which Ray takes first; the others suffice
    cluster.wait_for(lambda: cluster.alive() == 4)
    doomed = cluster.machines.pop()
    ours = {process.pid for process in psutil.Process(doomed.process.pid).children(recursive=True)}
    process = run_space(assay, space, store_of(tmp_path), 1, "--workers", 5, *ray, wait=False)

    def runs_there():
        tree = psutil.Process(doomed.process.pid).children(recursive=True)
        return any(child.pid not in ours and child.name() == "assay-worker" for child in tree)

    assert wait_until(lambda: runs_there() or process.poll() is not None)
    assert process.poll() is None, process.communicate()
    doomed.lose()
    out, errors = process.communicate(timeout=300)
    assert process.returncode == 0, errors
    assert "4 measured" in out
    outcomes = sorted(m["outcome"] for m in measurements(assay, space, store_of(tmp_path)))
    assert outcomes.count("valid") == 4


def test_a_run_that_is_behind_is_ended(assay, space, slow_worker, ray, tmp_path):
    end_a_run_early(assay, space, store_of(tmp_path), *ray)


def test_what_the_cluster_has_not(assay, space, ray, tmp_path):
    line = assay.refused("explore", space, "--store", store_of(tmp_path), *ray, "--resource", "A100=1")
    assert "0 machines with A100 1, CPU 1" in line


def test_a_token_is_found_where_ray_has_it(assay, space, ray, tmp_path):
    del assay.env["RAY_AUTH_TOKEN"]
    refused = ["explore", space, "--store", store_of(tmp_path), *ray]
    assert "was answered with 401" in assay.refused(*refused, code=1)
    (assay.home / ".ray").mkdir()
    (assay.home / ".ray" / "auth_token").write_text(ray_cluster.TOKEN + "\n")
    assert "1 measured" in assay.ok(*refused, "--max-points", 1)


def test_an_address_that_does_not_answer(assay, space, tmp_path):
    address = f"http://127.0.0.1:{free_port()}"
    arguments = ["explore", space, "--store", store_of(tmp_path), "--launcher", "ray", "--address", address]
    line = assay.refused(*arguments, code=1)
    assert f"no Ray dashboard answers at {address}" in line


@contextlib.contextmanager
def answering(text):
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()


@pytest.mark.parametrize(
    ("text", "words"),
    [(json.dumps({"ray_version": "1.13.0"}), "is Ray 1.13.0"), ("<html>", "no dashboard of Ray's")],
)
def test_what_is_no_such_ray(assay, space, tmp_path, text, words):
    with answering(text) as address:
        arguments = ["explore", space, "--store", store_of(tmp_path), "--launcher", "ray", "--address", address]
        assert words in assay.refused(*arguments)


def test_a_job_ends_with_its_controller(assay, space, ray, cluster, tmp_path):
    space.write_text(space.read_text().replace("value: 2", "value: 10000", 1))
    process = run_space(assay, space, store_of(tmp_path), 1, *ray, wait=False)
    assert wait_until(lambda: workers_of(assay))
    process.kill()
    process.communicate(timeout=300)
    assert wait_until(lambda: not workers_of(assay), seconds=90)
