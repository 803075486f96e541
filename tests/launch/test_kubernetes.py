"""Points on a cluster of Kubernetes, whose API server is the test's own and whose pods are processes."""

import json
import os

import pytest
from kubernetes_cluster import JOBS, Kubernetes
from launched import end_a_run_early, measurement, measurements, run_example, run_space, wait_until, workers_of

POD = """\
metadata: { labels: { kueue.x-k8s.io/queue-name: team } }
spec:
  serviceAccountName: assay
  tolerations: [{ key: dedicated, operator: Exists }]
  containers:
    - name: ranks
      image: assay:1
      volumeMounts: [{ name: shared, mountPath: /shared }]
  volumes: [{ name: shared, persistentVolumeClaim: { claimName: shared } }]
"""


@pytest.fixture
def start(assay, tmp_path):
    """Starts a cluster of so many machines of two CPUs, and returns it with what makes explore use it."""
    clusters = []

    def start(machines=2, **options):
        nodes = {f"m{number}": {"cpu": "2"} for number in range(machines)}
        cluster = Kubernetes(tmp_path / f"cluster{len(clusters)}", nodes, **options)
        clusters.append(cluster)
        cluster.environment = dict(assay.env)
        (tmp_path / "pod.yaml").write_text(POD)
        assay.env |= {
            "ASSAY_KUBERNETES_ACCOUNT": str(cluster.account),
            "ASSAY_KUBERNETES_FOLDER": str(tmp_path / "shared"),
            "ASSAY_KUBERNETES_POD": str(tmp_path / "pod.yaml"),
        }
        if cluster.kind != "Job":
            assay.env["ASSAY_KUBERNETES_JOB"] = cluster.kind
        return cluster, ["--launcher", "kubernetes", "--address", cluster.url]

    yield start
    for cluster in clusters:
        left = list(cluster.jobs)
        cluster.stop()
        assert not left, "a job is left"
    assert wait_until(lambda: not workers_of(assay)), "a worker is left"
    assert not (tmp_path / "shared").exists() or os.listdir(tmp_path / "shared") == []


def store_of(tmp_path):
    return f"sqlite:///{tmp_path}/store.db"


def endless(space):
    space.write_text(space.read_text().replace("value: 2", "value: 10000", 1))


def test_points_are_measured_and_replayed(assay, space, start, tmp_path):
    cluster, kubernetes = start()
    assert "4 points: 4 measured" in run_space(assay, space, store_of(tmp_path), 1, *kubernetes)
    for measured in measurements(assay, space, store_of(tmp_path)):
        assert measured["outcome"] == "valid", measured["reason"]
        assert measured["series"]["time_s"] and measured["provenance"]["threads"] == "1"
    for job in cluster.created:
        assert job["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] == "team"
        assert job["spec"]["template"]["spec"]["tolerations"]
    assert "4 replayed" in run_space(assay, space, store_of(tmp_path), 1, *kubernetes)


def test_machines_of_a_point_meet(assay, space, start, tmp_path):
    cluster, kubernetes = start()
    domain = "  - { identifier: number_nodes, propertyDomain: { values: [2] } }\n"
    space.write_text(space.read_text().replace("experiments:\n", domain + "experiments:\n"))
    run_space(assay, space, store_of(tmp_path), 2, "--max-points", 1, *kubernetes)
    measured = measurement(assay, space, store_of(tmp_path))
    assert measured["outcome"] == "valid", measured["reason"]
    assert cluster.created[-1]["spec"]["completions"] == 2


def test_machines_of_a_set_meet(assay, space, start, tmp_path):
    cluster, kubernetes = start(kind="JobSet")
    domain = "  - { identifier: number_nodes, propertyDomain: { values: [2] } }\n"
    space.write_text(space.read_text().replace("experiments:\n", domain + "experiments:\n"))
    run_space(assay, space, store_of(tmp_path), 2, "--max-points", 1, *kubernetes)
    measured = measurement(assay, space, store_of(tmp_path))
    assert measured["outcome"] == "valid", measured["reason"]
    for asked in cluster.created:
        assert asked["kind"] == "JobSet" and asked["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] == "team"
    (of_ranks,) = cluster.created[-1]["spec"]["replicatedJobs"]
    assert of_ranks["template"]["spec"]["completions"] == 2


def test_sets_where_there_are_none(assay, space, start, tmp_path):
    _, kubernetes = start()
    refused = ["explore", space, "--store", store_of(tmp_path), *kubernetes]
    assay.env["ASSAY_KUBERNETES_JOB"] = "JobSet"
    line = assay.refused(*refused)
    assert "jobset.x-k8s.io" in line and "404" in line
    assay.env["ASSAY_KUBERNETES_JOB"] = "CronJob"
    assert "ASSAY_KUBERNETES_JOB is CronJob" in assay.refused(*refused)


def test_a_deleted_job_is_a_failed_run(assay, space, start, tmp_path):
    cluster, kubernetes = start()
    endless(space)
    process = run_space(assay, space, store_of(tmp_path), 1, "--max-points", 1, *kubernetes, wait=False)
    while process.poll() is None:  # a lost run is tried again, some times
        assert wait_until(lambda: workers_of(assay) or process.poll() is not None)
        with cluster.lock:
            for name in list(cluster.jobs):
                cluster.answer("DELETE", f"{JOBS['Job']}/{name}", b"")
        assert wait_until(lambda: not workers_of(assay))
    _, errors = process.communicate(timeout=300)
    assert process.returncode == 1, errors
    failed = measurement(assay, space, store_of(tmp_path))
    assert failed["outcome"] == "failed" and "deleted" in failed["reason"], failed["reason"]


def test_ranks_beyond_their_containers_memory_are_out_of_memory(assay, space, start, tmp_path):
    cluster, kubernetes = start()
    for has in cluster.nodes.values():
        has["memory"] = "4000000000"
    endless(space)
    options = ["--max-points", 1, *kubernetes, "--resource", "memory=2000000000"]
    process = run_space(assay, space, store_of(tmp_path), 1, *options, wait=False)
    assert wait_until(lambda: workers_of(assay) or process.poll() is not None)
    with cluster.lock:
        for pod in sum(cluster.pods.values(), []):
            pod.run_out_of_memory()
    out, errors = process.communicate(timeout=300)
    assert process.returncode == 0 and "1 invalid" in out, errors
    invalid = measurement(assay, space, store_of(tmp_path))
    assert invalid["outcome"] == "invalid" and "OOMKilled" in invalid["reason"], invalid["reason"]


def test_an_interrupted_exploration_leaves_no_job(assay, space, start, tmp_path):
    cluster, kubernetes = start()
    endless(space)
    process = run_space(assay, space, store_of(tmp_path), 1, "--max-points", 1, *kubernetes, wait=False)
    assert wait_until(lambda: workers_of(assay) or process.poll() is not None)
    process.send_signal(2)
    process.communicate(timeout=300)
    assert process.returncode == 130 and not cluster.jobs


def test_a_run_that_is_behind_is_ended(assay, space, slow_worker, start, tmp_path):
    _, kubernetes = start()
    end_a_run_early(assay, space, store_of(tmp_path), *kubernetes)


def test_the_example(assay, start, tmp_path):
    cluster, _ = start(images=("registry.example/assay:1",))
    del assay.env["ASSAY_KUBERNETES_POD"]  # the example has its own
    assay.env["KUBERNETES_PROXY"] = cluster.url
    run_example(assay, "kubernetes", tmp_path / "out")
    assert all(job["spec"]["template"]["spec"]["volumes"] for job in cluster.created)


def test_what_no_machine_has(assay, space, start, tmp_path):
    _, kubernetes = start()
    line = assay.refused("explore", space, "--store", store_of(tmp_path), *kubernetes, "--resource", "a.com/roce=1")
    assert "a.com/roce 1 (the most is 0)" in line


def test_an_image_that_there_is_not(assay, space, start, tmp_path):
    _, kubernetes = start(images=())
    line = assay.refused("explore", space, "--store", store_of(tmp_path), *kubernetes)
    assert "ErrImagePull: no such image" in line


def test_what_waits_says_why(assay, space, start, tmp_path):
    cluster, kubernetes = start(machines=1)
    container = {"name": "a", "image": "assay:1", "command": ["sleep", "1000"], "env": []}
    container["resources"] = {"requests": {"cpu": "2"}}
    template = {"spec": {"restartPolicy": "Never", "containers": [container]}}
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "others"}}
    with cluster.lock:
        cluster.create(job | {"spec": {"completions": 1, "template": template}})
    process = run_space(assay, space, store_of(tmp_path), 1, "--max-points", 1, *kubernetes, wait=False)
    line = process.stderr.readline()
    assert "waits: 0/1 nodes are available" in line
    assert cluster.node_lists < 6, "a long list is not asked for with every look at a job"
    with cluster.lock:
        cluster.answer("DELETE", f"{JOBS['Job']}/others", b"")
    out, errors = process.communicate(timeout=300)
    assert process.returncode == 0 and "1 measured" in out, errors


def test_a_cluster_without_machines(assay, space, start, tmp_path):
    _, kubernetes = start(machines=0)
    line = assay.refused("explore", space, "--store", store_of(tmp_path), *kubernetes)
    assert "0 of the cluster's machines have what each of 1 needs: cpu 1 (the most is 0)" in line


def test_a_job_is_created_once_on_a_bad_day(assay, space, start, tmp_path):
    cluster, kubernetes = start()
    for answer in ((503, False), (500, True), (429, False)):  # the job's of the machine's description
        cluster.bad_answers.append(answer)
    assert "1 measured" in run_space(assay, space, store_of(tmp_path), 1, "--max-points", 1, *kubernetes)
    names = [job["metadata"]["name"] for job in cluster.created]
    assert len(names) == len(set(names)) == 2


def test_an_image_that_cannot_be_had_now_is_waited_for(assay, space, start, tmp_path):
    cluster, kubernetes = start()
    cluster.images_after = [()]  # the first pod, which describes a machine
    process = run_space(assay, space, store_of(tmp_path), 1, "--max-points", 1, *kubernetes, wait=False)
    assert any("waits: ErrImagePull: no such image" in line for line in iter(process.stderr.readline, ""))
    cluster.images = ("assay:1",)
    out, errors = process.communicate(timeout=300)
    assert process.returncode == 0 and "1 measured" in out, errors


def test_an_account_that_may_not_see_machines(assay, space, start, tmp_path):
    _, kubernetes = start(sees_nodes=False)
    assert "1 measured" in run_space(assay, space, store_of(tmp_path), 1, "--max-points", 1, *kubernetes)


@pytest.mark.parametrize(
    ("options", "said"),
    [({"version": "v1.19.3"}, "this needs 1.24 or later"), ({"version": "x"}, "is no API server of Kubernetes")],
)
def test_what_is_no_such_kubernetes(assay, space, start, tmp_path, options, said):
    _, kubernetes = start(**options)
    assert said in assay.refused("explore", space, "--store", store_of(tmp_path), *kubernetes)


def test_a_wrong_token_is_told(assay, space, start, tmp_path):
    cluster, kubernetes = start()
    (cluster.account / "token").write_text("another")
    line = assay.refused("explore", space, "--store", store_of(tmp_path), *kubernetes)
    assert "401" in line and "Unauthorized" in line


def test_what_is_missing_is_named(assay, space, start, tmp_path):
    _, kubernetes = start()
    refused = ["explore", space, "--store", store_of(tmp_path)]
    line = assay.refused(*refused, "--launcher", "kubernetes", "--address", "http://127.0.0.1:1", code=1)
    assert "no API server of Kubernetes answers at http://127.0.0.1:1" in line
    assert "--address must name" in assay.refused(*refused, "--launcher", "kubernetes")
    (tmp_path / "pod.yaml").write_text(json.dumps({"spec": {"containers": []}}))
    assert "spec.containers" in assay.refused(*refused, *kubernetes)
    (tmp_path / "pod.yaml").write_text(POD.replace("image: assay:1", "image: assay:1\n      env: { A: b }"))
    assert "spec/containers/0/env is no list" in assay.refused(*refused, *kubernetes)
    folder = assay.env["ASSAY_KUBERNETES_FOLDER"]
    assay.env["ASSAY_KUBERNETES_FOLDER"] = "shared"
    assert "ASSAY_KUBERNETES_FOLDER is shared" in assay.refused(*refused, *kubernetes)
    assay.env["ASSAY_KUBERNETES_FOLDER"] = folder
    del assay.env["ASSAY_KUBERNETES_POD"]
    assert "ASSAY_KUBERNETES_POD" in assay.refused(*refused, *kubernetes)
