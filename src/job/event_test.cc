#include "job/event.h"

#include <gmock/gmock.h>

#include <cmath>

namespace assay::job {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

template <typename Kind>
Kind RoundTrip(const Kind& event) {
  const std::string line = ToJsonLine(event);
  EXPECT_THAT(line, Not(HasSubstr("\n")));
  auto read = EventFromJsonLine(line);
  EXPECT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(ToJsonLine(*read), line);
  return std::get<Kind>(*read);
}

TEST(EventTest, EachKindSurvivesTheLine) {
  EXPECT_EQ(RoundTrip(Started{.pid = 7, .libtorch = "2.13.0", .device = "cpu", .threads = 2, .isa = "avx2"}).isa,
            "avx2");
  EXPECT_EQ(RoundTrip(Loaded{.seconds = 0.5, .model_type = "llama", .weights = "random", .rows = 9}).rows, 9);
  EXPECT_EQ(RoundTrip(Saved{.path = "out\n/é"}).path, "out\n/é");
  const Step step = RoundTrip(
      Step{.step = 3, .loss = 0.1, .real_tokens = 1234, .forward_only = 2, .optimizer_peak_bytes = 1LL << 40});
  EXPECT_EQ(step.step, 3);
  EXPECT_EQ(step.loss, 0.1);
  EXPECT_EQ(step.real_tokens, 1234);
  EXPECT_EQ(step.forward_only, 2);
  EXPECT_EQ(step.optimizer_peak_bytes, 1LL << 40);
  EXPECT_EQ(RoundTrip(HeldOutLoss{.step = 4, .perplexity = HUGE_VAL, .tokens = 9}).perplexity, HUGE_VAL);
  EXPECT_EQ(RoundTrip(Ended{.peak_reserved_bytes = 1LL << 40}).peak_reserved_bytes, 1LL << 40);
}

TEST(EventTest, EventsOfRanksSurviveTheLine) {
  EXPECT_EQ(RoundTrip(Topology{.world_size = 4, .plugin = "gemini", .backend = "gloo"}).backend, "gloo");
  const RankStep step = RoundTrip(RankStep{.rank = 3, .step = 9, .loss_scale = 32, .skipped = true});
  EXPECT_EQ(step.rank, 3);
  EXPECT_TRUE(step.skipped);
  const DataUse use = RoundTrip(DataUse{.rank = 2, .samples = 7, .received_bytes = 1LL << 40, .cpu_seconds = 0.5});
  EXPECT_EQ(use.samples, 7);
  EXPECT_EQ(use.received_bytes, 1LL << 40);
  const ConnectorStep part = RoundTrip(ConnectorStep{.step = "stream", .samples = 5, .read_requests = -1});
  EXPECT_EQ(part.step, "stream");
  EXPECT_EQ(part.read_requests, -1);
  EXPECT_EQ(RoundTrip(Evaluation{.epoch = 2, .accuracy = 0.97, .samples = 360}).accuracy, 0.97);
  EXPECT_EQ(RoundTrip(MemoryLedger{.rank = 1, .phase = "steady", .peak_bytes = 1LL << 40}).peak_bytes, 1LL << 40);
  const CollectiveTotals totals = RoundTrip(CollectiveTotals{.operation = "all_gather", .group = "shard", .calls = 24});
  EXPECT_EQ(totals.operation, "all_gather");
  EXPECT_EQ(totals.calls, 24);
  const CheckpointTransfer transfer =
      RoundTrip(CheckpointTransfer{.rank = 1, .operation = "load", .repeat = 3, .seconds = 0.5, .is_verified = true});
  EXPECT_EQ(transfer.operation, "load");
  EXPECT_TRUE(transfer.is_verified);
}

TEST(EventTest, EndKindsHaveNames) {
  for (const EndKind kind :
       {EndKind::kDone, EndKind::kOutOfMemory, EndKind::kInvalid, EndKind::kDiverged, EndKind::kError}) {
    Ended ended;
    ended.kind = kind;
    EXPECT_EQ(RoundTrip(ended).kind, kind);
    EXPECT_THAT(ToJsonLine(ended), HasSubstr(std::string(ToString(kind))));
  }
}

TEST(EventTest, ALossThatIsNotFiniteStaysSo) {
  const Step step = RoundTrip(Step{.loss = std::nan(""), .grad_norm = -HUGE_VAL, .learning_rate = HUGE_VAL});
  EXPECT_TRUE(std::isnan(step.loss));
  EXPECT_EQ(step.grad_norm, -HUGE_VAL);
  EXPECT_EQ(step.learning_rate, HUGE_VAL);
}

TEST(EventTest, BadLinesAreErrorsThatSayWhat) {
  EXPECT_THAT(EventFromJsonLine("{\"event\":\"st").status().message(), HasSubstr("not valid JSON"));
  EXPECT_THAT(EventFromJsonLine("5").status().message(), HasSubstr("'event' is missing"));
  EXPECT_THAT(EventFromJsonLine("{}").status().message(), HasSubstr("'event' is missing"));
  EXPECT_EQ(EventFromJsonLine(R"({"event":"jumped"})").status().message(), "unknown event 'jumped'");
  EXPECT_EQ(EventFromJsonLine(R"({"event":"saved"})").status().message(), "event 'saved': 'path' is missing");
  EXPECT_EQ(EventFromJsonLine(R"({"event":"saved","path":5})").status().message(),
            "event 'saved': 'path' must be a text, not 5");
  std::string ended = ToJsonLine(Ended{});
  ended.replace(ended.find("done"), 4, "bored");
  EXPECT_EQ(EventFromJsonLine(ended).status().message(), "event 'ended': 'bored' is no way to end");
  EXPECT_EQ(EventFromJsonLine(R"({"event":"a\nb"})").status().message(), "unknown event 'a\\nb'");
  ended.replace(ended.find("bored"), 5, R"(a\nb)");
  EXPECT_EQ(EventFromJsonLine(ended).status().message(), "event 'ended': 'a\\nb' is no way to end");
}

TEST(EventTest, KeysOfLaterVersionsAreIgnored) {
  EXPECT_TRUE(EventFromJsonLine(R"({"event":"saved","path":"x","seconds":0.5,"bytes":5})").ok());
}

}  // namespace
}  // namespace assay::job
