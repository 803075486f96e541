#include <nlohmann/json.hpp>

#include "storage/conformance.h"
#include "storage/decorator/counting_store.h"
#include "storage/decorator/fault_store.h"
#include "storage/decorator/latency_store.h"
#include "storage/decorator/recording_store.h"
#include "storage/memory/memory_store.h"

namespace assay::storage {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class DecoratedMemory final : public StoreUnderTest {
 public:
  ObjectStore& store() override { return recording_; }

 private:
  std::shared_ptr<MemoryStore> memory_ = std::make_shared<MemoryStore>("test");
  std::shared_ptr<FaultStore> faults_ = std::make_shared<FaultStore>(memory_, std::vector<FaultRule>{}, 1);
  std::shared_ptr<CountingStore> counting_ =
      std::make_shared<CountingStore>(faults_, std::make_shared<StoreCounters>());
  std::shared_ptr<LatencyStore> latency_ = std::make_shared<LatencyStore>(counting_, LatencyModel{.median_seconds = 0});
  RecordingStore recording_{latency_, [](std::string_view) {}};
};

INSTANTIATE_TEST_SUITE_P(Decorated, ObjectStoreConformance,
                         testing::Values(ConformanceTarget{.name = "memory",
                                                           .make = [] { return std::make_unique<DecoratedMemory>(); },
                                                           .large_bytes = 4 << 20}),
                         TargetName);

Status Put(ObjectStore& store, const std::string& key, std::string_view text) {
  const Bytes bytes = AsBytes(text);
  return store.Write(key, std::span(&bytes, 1), {}).status();
}

Status Get(ObjectStore& store, const std::string& key, std::string& text) {
  const ReadPiece piece = {0, std::as_writable_bytes(std::span(text))};
  return store.Read(key, std::span(&piece, 1), {}).status();
}

TEST(CountingStore, CountsOperationsAndTheirBytes) {
  auto counters = std::make_shared<StoreCounters>();
  CountingStore store(std::make_shared<MemoryStore>("test"), counters);
  EXPECT_THAT(Put(store, "a", "12345"), IsOk());
  std::string text(3, '?');
  EXPECT_THAT(Get(store, "a", text), IsOk());
  EXPECT_THAT(Get(store, "b", text), HasCode(ErrorCode::kNotFound));
  const StoreCounts counts = counters->Snapshot();
  EXPECT_EQ(counts.operations.at("write").bytes, 5);
  EXPECT_EQ(counts.operations.at("read").calls, 2);
  EXPECT_EQ(counts.operations.at("read").errors, 1);
  EXPECT_EQ(counts.bytes_asked, 6);
  EXPECT_EQ(counts.bytes_used, 3);
  EXPECT_EQ(counts.ToJson()["operations"]["read"]["latency"]["count"], 2);
}

// A bucket of a service that copies between its buckets.
class CopyingStore final : public ForwardingStore {
 public:
  explicit CopyingStore(const std::string& name) : ForwardingStore(std::make_shared<MemoryStore>(name)) {}
  ServicePlace place() const override { return {"service", Uri("")}; }
  Result<std::optional<ObjectInfo>> CopyFrom(ObjectStore& source, const std::string& from, const std::string& to,
                                             const WriteOptions& options) override {
    if (!SharesService(*this, source)) {
      return std::optional<ObjectInfo>();
    }
    return std::optional(ObjectInfo{.key = to, .size = 5});
  }
};

TEST(CountingStore, LetsTheServiceCopyBetweenWrappedBuckets) {
  auto counters = std::make_shared<StoreCounters>();
  LatencyStore source(
      std::make_shared<CountingStore>(std::make_shared<CopyingStore>("a"), std::make_shared<StoreCounters>()),
      LatencyModel{.median_seconds = 0});
  CountingStore target(std::make_shared<CopyingStore>("b"), counters);
  EXPECT_TRUE(SharesService(target, source));
  const auto copied = target.CopyFrom(source, "k", "to", {});
  ASSERT_THAT(copied.status(), IsOk());
  EXPECT_EQ((*copied)->key, "to");
  MemoryStore elsewhere("c");
  const auto refused = target.CopyFrom(elsewhere, "k", "to", {});
  ASSERT_THAT(refused.status(), IsOk());
  EXPECT_FALSE(refused->has_value());
  EXPECT_EQ(counters->Snapshot().operations.at("copy").calls, 1);
}

TEST(CountingStore, CountsRequests) {
  StoreCounters counters;
  counters.OnRequest(
      {.operation = "get", .method = "GET", .http_status = 503, .new_connection = true, .total_seconds = 0.002});
  counters.OnRequest({.operation = "get", .method = "GET", .http_status = 206, .attempt = 2, .bytes_received = 10});
  counters.OnRequest({.operation = "get", .method = "GET", .attempt = 2, .reissue = true});
  const StoreCounts counts = counters.Snapshot();
  EXPECT_EQ(counts.requests.at({"GET", 503}), 1);
  EXPECT_EQ(counts.requests.at({"GET", 0}), 1);
  EXPECT_EQ(counts.retries, 1);
  EXPECT_EQ(counts.reissues, 1);
  EXPECT_EQ(counts.connections, 1);
  EXPECT_EQ(counts.bytes_received, 10);
}

TEST(LatencyHistogram, FindsQuantilesWithinATenth) {
  LatencyHistogram histogram;
  EXPECT_EQ(histogram.Quantile(0.5), 0);
  for (int i = 1; i <= 1000; ++i) {
    histogram.Add(i * 1e-3);
  }
  EXPECT_GE(histogram.Quantile(0.5), 0.5);
  EXPECT_LE(histogram.Quantile(0.5), 0.55);
  EXPECT_GE(histogram.Quantile(0.99), 0.99);
  EXPECT_LE(histogram.Quantile(0.99), 1.09);
  histogram.Add(1e9);
  EXPECT_EQ(histogram.buckets().back(), 1);
}

TEST(RecordingStore, WritesLinesThatCanBeCompared) {
  std::vector<std::string> lines;
  RecordingStore store(std::make_shared<MemoryStore>("test"), [&](std::string_view line) { lines.emplace_back(line); });
  EXPECT_THAT(Put(store, "a\"b", "12345"), IsOk());
  std::string text(3, '?');
  EXPECT_THAT(Get(store, "a\"b", text), IsOk());
  EXPECT_FALSE(store.Copy("none", "to", {}).ok());
  EXPECT_THAT(lines, ElementsAre(R"({"op":"write","key":"a\"b","count":1,"bytes":5,"status":"ok"})",
                                 R"({"op":"read","key":"a\"b","count":1,"bytes":3,"ranges":[[0,3]],"status":"ok"})",
                                 R"({"op":"copy","key":"to","from":"none","count":1,"bytes":0,"status":"not_found"})"));
}

TEST(LatencyStore, WaitsAsItsModelSays) {
  const auto waits = [](uint64_t seed) {
    std::vector<double> seconds;
    LatencyStore store(std::make_shared<MemoryStore>("test"),
                       {.median_seconds = 0.1, .sigma = 0.5, .bytes_per_s = 100, .seed = seed},
                       [&](double wait) { seconds.push_back(wait); });
    for (int i = 0; i < 101; ++i) {
      EXPECT_THAT(Put(store, "a", "12345"), IsOk());
    }
    return seconds;
  };
  std::vector<double> first = waits(3);
  EXPECT_EQ(first, waits(3));
  EXPECT_NE(first, waits(4));
  ASSERT_EQ(first.size(), 202u);
  EXPECT_DOUBLE_EQ(first[1], 0.05);
  std::vector<double> begins;
  for (size_t i = 0; i < first.size(); i += 2) {
    begins.push_back(first[i]);
  }
  std::sort(begins.begin(), begins.end());
  EXPECT_NEAR(begins[50], 0.1, 0.03);
}

TEST(FaultStore, FailsAtItsRateAndInTheSameWayAgain) {
  const auto run = [](uint64_t seed) {
    FaultStore store(std::make_shared<MemoryStore>("test"), {{.operation = "write", .rate = 0.2}}, seed);
    std::string outcome;
    for (int i = 0; i < 500; ++i) {
      outcome += Put(store, "a", "x").ok() ? '.' : 'F';
    }
    EXPECT_THAT(store.Stat("a").status(), IsOk());
    EXPECT_EQ(store.faults(), std::count(outcome.begin(), outcome.end(), 'F'));
    return outcome;
  };
  const std::string outcome = run(1);
  EXPECT_EQ(outcome, run(1));
  EXPECT_NE(outcome, run(2));
  EXPECT_NEAR(std::count(outcome.begin(), outcome.end(), 'F'), 100, 40);
}

TEST(FaultStore, LosesAnswersAndFlipsBits) {
  auto memory = std::make_shared<MemoryStore>("test");
  FaultStore losing(memory, {{.kind = FaultRule::Kind::kLoseAnswer, .operation = "write", .rate = 1}}, 1);
  EXPECT_THAT(Put(losing, "a", "12345"), HasCode(ErrorCode::kIo));
  FaultStore flipping(memory, {{.kind = FaultRule::Kind::kFlipBit, .rate = 1}}, 1);
  std::string text(5, '?');
  EXPECT_THAT(Get(flipping, "a", text), IsOk());
  int bits = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    bits += __builtin_popcount(static_cast<unsigned char>(text[i] ^ "12345"[i]));
  }
  EXPECT_EQ(bits, 1);
}

}  // namespace
}  // namespace assay::storage
