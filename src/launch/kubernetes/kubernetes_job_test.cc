#include "launch/kubernetes/kubernetes_job.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <fstream>

#include "base/files.h"

namespace assay::launch {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using Phase = BatchState::Phase;

TEST(ParseQuantityTest, ReadsTheApisUnits) {
  EXPECT_DOUBLE_EQ(ParseQuantity("3920m").value(), 3.92);
  EXPECT_EQ(ParseQuantity("64Gi").value(), 64.0 * (1ULL << 30));
  EXPECT_EQ(ParseQuantity("1.5k").value(), 1500);
  EXPECT_EQ(ParseQuantity("1e3").value(), 1000);
  EXPECT_EQ(ParseQuantity("2E").value(), 2e18);
  for (const char* text : {"", "Gi", "4 cores", "nan", "inf"}) {
    EXPECT_FALSE(ParseQuantity(text).has_value()) << text;
  }
}

TEST(KubernetesJobTest, KeepsTheUsersPodAndAddsWhatRanksNeed) {
  const json pod = json::parse(R"({
    "metadata": {"labels": {"kueue.x-k8s.io/queue-name": "team"}},
    "spec": {"tolerations": [{"key": "gpu", "operator": "Exists"}], "serviceAccountName": "runner",
             "affinity": {"nodeAffinity": {}, "podAntiAffinity": {
                 "preferredDuringSchedulingIgnoredDuringExecution": [],
                 "requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "rack"}]}},
             "containers": [{"image": "assay:1", "env": [{"name": "A", "value": "b"}], "args": ["sleep"],
                             "resources": {"requests": {"memory": "4Gi"}}}]}})");
  const KubernetesOptions options{.cpus_per_rank = 3, .resources = {{"rdma/hca", 1}}};
  const json job = JobOf(pod, "assay-x", 2, ResourcesOf(options, 4, /*on_gpus=*/true), {"agent"}, {{"ASSAY_B", "c"}});
  EXPECT_EQ(job["metadata"]["labels"]["kueue.x-k8s.io/queue-name"], "team");
  EXPECT_EQ(job["spec"]["completions"], 2);
  EXPECT_EQ(job["spec"]["backoffLimit"], 0);
  const json& spec = job["spec"]["template"]["spec"];
  EXPECT_EQ(spec["tolerations"], pod["spec"]["tolerations"]);
  EXPECT_EQ(spec["serviceAccountName"], "runner");
  EXPECT_TRUE(spec["affinity"].contains("nodeAffinity"));
  const json& apart = spec["affinity"]["podAntiAffinity"];
  EXPECT_TRUE(apart.contains("preferredDuringSchedulingIgnoredDuringExecution"));
  const json& required = apart["requiredDuringSchedulingIgnoredDuringExecution"];
  ASSERT_EQ(required.size(), 2u);
  EXPECT_EQ(required[0]["topologyKey"], "rack");
  EXPECT_EQ(required[1], json::parse(R"({"labelSelector": {"matchLabels": {"assay-job": "assay-x"}},
                                         "topologyKey": "kubernetes.io/hostname"})"));
  const json& container = spec["containers"][0];
  EXPECT_EQ(container["command"], json({"agent"}));
  EXPECT_FALSE(container.contains("args"));
  EXPECT_EQ(container["resources"]["requests"],
            json::parse(R"({"memory": "4Gi", "cpu": "12", "nvidia.com/gpu": "4", "rdma/hca": "1"})"));
  EXPECT_EQ(container["env"][0], json({{"name", "A"}, {"value", "b"}}));
  EXPECT_EQ(container["env"][1], json({{"name", "ASSAY_B"}, {"value", "c"}}));
  EXPECT_EQ(AskedBy(job),
            (Resources{{"cpu", 12}, {"memory", 4.0 * (1 << 30)}, {"nvidia.com/gpu", 4}, {"rdma/hca", 1}}));
  EXPECT_TRUE(AskedBy(json::parse(R"({"spec": {"template": 7}})")).empty());
}

TEST(KubernetesJobTest, ASetHasAllOfItsJob) {
  const json pod = json::parse(R"({
    "metadata": {"labels": {"kueue.x-k8s.io/queue-name": "team"},
                 "annotations": {"alpha.jobset.sigs.k8s.io/exclusive-topology": "rack"}},
    "spec": {"containers": [{"image": "assay:1"}]}})");
  const json job = JobOf(pod, "assay-x", 2, {{"cpu", 4}}, {"agent"}, {});
  const json set = JobSetOf(job);
  EXPECT_EQ(set["kind"], "JobSet");
  EXPECT_EQ(set["metadata"], job["metadata"]);
  EXPECT_EQ(set["spec"]["ttlSecondsAfterFinished"], job["spec"]["ttlSecondsAfterFinished"]);
  EXPECT_EQ(set["spec"]["failurePolicy"]["maxRestarts"], 0);
  ASSERT_EQ(set["spec"]["replicatedJobs"].size(), 1u);
  const json& spec = set["spec"]["replicatedJobs"][0]["template"]["spec"];
  EXPECT_FALSE(spec.contains("ttlSecondsAfterFinished"));
  EXPECT_EQ(spec["template"], job["spec"]["template"]);
  EXPECT_EQ(spec["template"]["metadata"]["labels"][kPodLabel], "assay-x");
  EXPECT_EQ(MachinesOf(set), 2);
  EXPECT_EQ(AskedBy(set), AskedBy(job));
}

TEST(KubernetesJobTest, TellsStatesOfASet) {
  const auto state = [](const char* text) { return StateOf(json::parse(text)); };
  EXPECT_EQ(state(R"({"status": {"replicatedJobsStatus": [{"ready": 0, "active": 1}]}})").phase, Phase::kWaiting);
  EXPECT_EQ(state(R"({"status": {"replicatedJobsStatus": [{"ready": 1, "active": 1}]}})").phase, Phase::kRunning);
  EXPECT_EQ(state(R"({"status": {"conditions": [{"type": "Completed", "status": "True"}]}})").why, kComplete);
  EXPECT_EQ(state(R"({"status": {"conditions": [{"type": "Failed", "status": "True"}]}})").phase, Phase::kEnded);
  EXPECT_EQ(state(R"({"status": {"replicatedJobsStatus": 7}, "spec": {"replicatedJobs": 7}})").phase, Phase::kWaiting);
}

TEST(KubernetesJobTest, TellsStates) {
  const auto state = [](const char* text) { return StateOf(json::parse(text)); };
  EXPECT_EQ(state(R"({"spec": {"parallelism": 2}, "status": {"active": 2, "ready": 1}})").phase, Phase::kWaiting);
  EXPECT_EQ(state(R"({"spec": {"parallelism": 2}, "status": {"active": 2, "ready": 2}})").phase, Phase::kRunning);
  const BatchState failed = state(R"({"status": {"conditions": [
      {"type": "Failed", "status": "True", "reason": "BackoffLimitExceeded", "message": "it has reached\nthe limit"}]}})");
  EXPECT_EQ(failed.phase, Phase::kEnded);
  EXPECT_THAT(failed.why, HasSubstr("it has reached the limit"));
  EXPECT_EQ(state(R"({"status": {"conditions": [{"type": "Complete", "status": "True"}]}})").why, kComplete);
  EXPECT_THAT(state(R"({"spec": {"suspend": true}})").why, HasSubstr("suspended"));
  EXPECT_EQ(state(R"({"status": {"conditions": 7, "ready": "x"}, "spec": []})").phase, Phase::kWaiting);
}

TEST(KubernetesJobTest, TellsWhyPodsDoNotStart) {
  const auto state = [](const char* text) { return StateOfPods(json::parse(text)); };
  const BatchState image = state(R"({"items": [{"status": {"containerStatuses": [
      {"state": {"waiting": {"reason": "ErrImagePull", "message": "not found"}}}]}}]})");
  EXPECT_EQ(image.phase, Phase::kRefused);
  EXPECT_EQ(image.why, "ErrImagePull: not found");
  const BatchState queued = state(R"({"items": [{"status": {"conditions": [
      {"type": "PodScheduled", "status": "False", "message": "0/3 nodes are available"}]}}]})");
  EXPECT_EQ(queued.phase, Phase::kWaiting);
  EXPECT_EQ(queued.why, "0/3 nodes are available");
  const BatchState first = state(R"({"items": [{"status": {"initContainerStatuses": [
      {"state": {"waiting": {"reason": "InvalidImageName"}}}]}}]})");
  EXPECT_EQ(first.phase, Phase::kRefused);
  EXPECT_THAT(state(R"({"items": []})").why, HasSubstr("no pods: a quota"));
}

TEST(KubernetesJobTest, TellsWhatEndedPods) {
  const auto end = [](const char* text) { return EndOfPods(json::parse(text)); };
  EXPECT_EQ(end(R"({"items": [{"status": {"containerStatuses": [{"state": {"terminated": {"reason": "Completed"}}}]}},
      {"status": {"containerStatuses": [{"state": {"terminated": {"reason": "OOMKilled", "exitCode": 137}}}]}}]})"),
            "OOMKilled with exit code 137");
  EXPECT_EQ(end(R"({"items": [{"status": {"reason": "Evicted", "message": "The node was low on\nmemory."}}]})"),
            "Evicted: The node was low on memory.");
  EXPECT_EQ(end(R"({"items": [{"status": 3}, 4]})"), "");
}

TEST(KubernetesJobTest, TellsWhichPodsTookMoreMemoryThanTheirLimit) {
  const auto beyond = [](const std::string& name, const std::string& reason, const std::string& limits) {
    return WentBeyondMemory(json::parse(fmt::format(
        R"({{"items": [{{"spec": 3}}, {{"spec": {{"containers": [{{"name": "ranks", "resources": {{"limits": {}}}}}]}},
            "status": {{"containerStatuses": [{{"name": "{}", "state": {{"terminated": {{"reason": "{}"}}}}}}]}}}}]}})",
        limits, name, reason)));
  };
  EXPECT_TRUE(beyond("ranks", "OOMKilled", R"({"memory": "4Gi"})"));
  EXPECT_FALSE(beyond("ranks", "OOMKilled", R"({"cpu": "4"})")) << "others may have used it up";
  EXPECT_TRUE(beyond("ranks", "OOMKilled", R"({"memory": "4Gi"}, "requests": {"memory": "4096Mi"})"));
  EXPECT_FALSE(beyond("ranks", "OOMKilled", R"({"memory": "4Gi"}, "requests": {"memory": "1Gi"})"))
      << "the machine may have had no more";
  EXPECT_FALSE(beyond("ranks", "Error", R"({"memory": "4Gi"})"));
  EXPECT_FALSE(beyond("beside", "OOMKilled", R"({"memory": "4Gi"})"));
}

TEST(CapacityTest, CountsMachinesThatTakePodsNowOrLater) {
  const json nodes = json::parse(R"({"items": [
      {"status": {"allocatable": {"cpu": "7920m", "nvidia.com/gpu": "2"}}},
      {"status": {"allocatable": {"cpu": "4"}}},
      {"spec": {"unschedulable": true}, "status": {"allocatable": {"cpu": "64", "nvidia.com/gpu": "8"}}}]})");
  const Capacity capacity = CapacityOf(nodes, {{"cpu", 4}, {"nvidia.com/gpu", 4}});
  EXPECT_DOUBLE_EQ(capacity.cpus, 11.92);
  EXPECT_EQ(capacity.fitting, 1);
  EXPECT_EQ(capacity.largest.at("nvidia.com/gpu"), 8);
  EXPECT_EQ(CapacityOf(nodes, {{"cpu", 4}}).fitting, 3);
  EXPECT_EQ(CapacityOf(json::object(), {{"cpu", 4}}).largest.at("cpu"), 0);
}

TEST(ReadPodTest, SaysWhatIsWrong) {
  const TemporaryDirectory folder = TemporaryDirectory::Create("assay-pod-").value();
  const std::string path = folder.path() + "/pod.yaml";
  const auto read = [&](const char* text) {
    std::ofstream(path) << text;
    return ReadPod(path);
  };
  EXPECT_THAT(read("spec: {containers: []}").status().message(), HasSubstr("spec.containers"));
  EXPECT_THAT(read("spec: {containers: [{name: a}]}").status().message(), HasSubstr("image"));
  EXPECT_THAT(read("kind: Service\nspec: {containers: [{image: a}]}").status().message(), HasSubstr("a Service"));
  EXPECT_TRUE(read("spec: {containers: [{image: a}]}").ok());
}

TEST(ReadPodTest, RefusesFieldsOfAnotherKind) {
  const TemporaryDirectory folder = TemporaryDirectory::Create("assay-pod-").value();
  const std::string path = folder.path() + "/pod.yaml";
  const auto read = [&](const std::string& container, const std::string& rest = "") {
    std::ofstream(path) << "spec: {containers: [{image: a, " << container << "}]" << rest;
    return ReadPod(path);
  };
  EXPECT_THAT(read("env: {A: b}", "}").status().message(), HasSubstr("spec/containers/0/env is no list"));
  EXPECT_THAT(read("resources: [x]", "}").status().message(), HasSubstr("/resources is no map"));
  EXPECT_THAT(read("resources: {limits: '4'}", "}").status().message(), HasSubstr("/limits is no map"));
  EXPECT_THAT(read("resources: {requests: [4]}", "}").status().message(), HasSubstr("/requests is no map"));
  EXPECT_THAT(read("name: b", ", affinity: x}").status().message(), HasSubstr("spec/affinity is no map"));
  EXPECT_THAT(read("name: b", ", affinity: {podAntiAffinity: x}}").status().message(), HasSubstr("is no map"));
  EXPECT_THAT(read("name: b", fmt::format(", affinity: {{podAntiAffinity: {{{}: {{}}}}}}}}",
                                          "requiredDuringSchedulingIgnoredDuringExecution"))
                  .status()
                  .message(),
              HasSubstr("is no list"));
  for (const char* field : {"labels", "annotations"}) {
    const std::string metadata = fmt::format("}}\nmetadata: {{{}: [a]}}", field);
    EXPECT_THAT(read("name: b", metadata).status().message(), HasSubstr(fmt::format("metadata/{} is no map", field)));
  }
  const auto empty = read("env: , resources: {limits: }", ", affinity: }\nmetadata: {labels: }");
  ASSERT_TRUE(empty.ok()) << empty.status().message();
  const json job = JobOf(*empty, "assay-x", 2, {{"cpu", 1}}, {"agent"}, {{"A", "b"}});
  EXPECT_EQ(job["spec"]["template"]["spec"]["containers"][0]["env"][0]["name"], "A");
}

}  // namespace
}  // namespace assay::launch
