#include "launch/kubernetes/kubernetes_machines.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "launch/kubernetes/kubernetes_job.h"

namespace assay::launch {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Optional;

json NodesOf(const std::string& cpus) {
  return json::parse(fmt::format(R"({{"items": [{{"status": {{"allocatable": {{"cpu": "{}"}}}}}}]}})", cpus));
}

json JobOfCpus(double cpus) {
  const json pod = json::parse(R"({"spec": {"containers": [{"image": "assay:1"}]}})");
  return JobOf(pod, "assay-x", /*machines=*/1, {{"cpu", cpus}}, {"agent"}, {});
}

class KubernetesMachinesTest : public testing::Test {
 protected:
  Result<json> nodes_ = NodesOf("2");
  int lists_ = 0;
  KubernetesMachines machines_{[this] {
    ++lists_;
    return nodes_;
  }};
};

TEST_F(KubernetesMachinesTest, AMachineThatCameSinceTheLastLookIsSeenBeforeAJobIsGivenUp) {
  EXPECT_THAT(machines_.Lacking(JobOfCpus(4)), Optional(HasSubstr("cpu 4 (the most is 2)")));
  nodes_ = NodesOf("8");
  EXPECT_EQ(machines_.Lacking(JobOfCpus(4)), std::nullopt);
}

TEST_F(KubernetesMachinesTest, AJobThatTheClusterCanTakeDoesNotAskForTheListWithEveryLook) {
  for (int look = 0; look < 10; ++look) {
    EXPECT_EQ(machines_.Lacking(JobOfCpus(1)), std::nullopt);
  }
  EXPECT_EQ(lists_, 1);
}

TEST_F(KubernetesMachinesTest, AnAccountThatMayNotSeeMachinesGivesNoJobUp) {
  nodes_ = Status::PermissionDenied("nodes is forbidden");
  EXPECT_EQ(machines_.Lacking(JobOfCpus(4)), std::nullopt);
}

}  // namespace
}  // namespace assay::launch
