// The remote stores under a server that lies: every operation of the mixed work ends right or with an error, and what
// stands is read from the server itself, past everything that lies.
//
//     ASSAY_LYING_OPERATIONS=10000 storage_bench_test --gtest_filter='*LyingStore*'
//
// does so many operations a store; without the variable it is a few hundred.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cstdlib>
#include <iostream>
#include <regex>

#include "objectserver/server.h"
#include "objectserver/store.h"
#include "storage/bench/mixed_work.h"
#include "storage/served_store.h"

namespace assay::storage {
namespace {

int64_t Operations() {
  const char* text = std::getenv("ASSAY_LYING_OPERATIONS");
  return text != nullptr ? std::atoll(text) : 400;
}

std::optional<std::string> Truth(objectserver::ObjectServer& server, const std::string& key) {
  const objectserver::StoreOutcome found = server.store().Find("test", key);
  if (!found.ok()) {
    return std::nullopt;
  }
  std::string text;
  const Status status = found.object->blob.ForEachPiece([&text](std::span<const std::byte> piece) {
    text.append(reinterpret_cast<const char*>(piece.data()), piece.size());
  });
  EXPECT_THAT(status, IsOk());
  return text;
}

/// How often each lie was told.
std::map<std::string, int64_t> LiesTold(const std::string& metrics) {
  std::map<std::string, int64_t> told;
  const std::regex line(R"re(assay_object_faults_total\{fault="([^"]+)",operation="[^"]+"\} (\d+))re");
  for (std::sregex_iterator at(metrics.begin(), metrics.end(), line), end; at != end; ++at) {
    told[(*at)[1]] += std::stoll((*at)[2]);
  }
  return told;
}

int64_t PeakMiB() {
  rusage usage = {};
  ::getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss / 1024;
}

class LyingStore : public testing::TestWithParam<ServedCase> {};

TEST_P(LyingStore, EveryOutcomeIsRightOrAnError) {
  objectserver::ServeOptions serve;
  serve.profile = std::string(ASSAY_SOURCE_DIR) + "/share/profiles/lying.yaml";
  serve.seed = 7;
  StoreOptions options;
  // A request that is given up may still be carried out, later than what comes after it: none is, on a slow machine.
  options.stall_timeout_seconds = 60;
  options.own["conditional_writes"] = "yes";  // a trial would leave its objects where a lie kept them
  ServedStore served(GetParam().uri, serve, options, GetParam().access);
  MixedPlan plan;
  plan.operations = Operations();
  plan.lists_lag = false;
  plan.truth = [&](const std::string& key) { return Truth(served.server(), key); };
  const auto result = RunMixedWork(served.store(), plan);
  ASSERT_THAT(result.status(), IsOk());
  EXPECT_EQ(result->wrong, 0) << testing::PrintToString(result->first_wrong);
  EXPECT_GT(result->right, Operations()) << "most must end well all the same";
  const std::map<std::string, int64_t> told = LiesTold(served.server().Metrics());
  EXPECT_GT(told.size(), 15U);
  // Memory that a peer could fill without end would hold its endless answers.
  EXPECT_LT(PeakMiB(), 2048);
  std::cout << GetParam().name << ": " << result->right << " right, " << result->errors << " errors ("
            << result->first_error << "), " << result->wrong << " wrong, peak " << PeakMiB() << " MiB; told:";
  for (const auto& [lie, count] : told) {
    std::cout << ' ' << lie << ' ' << count;
  }
  std::cout << std::endl;
}

INSTANTIATE_TEST_SUITE_P(Served, LyingStore, testing::ValuesIn(kServedCases),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace assay::storage
