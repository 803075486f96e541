// Streams over data sets in memory.
#include "shards/stream/sample_stream.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <array>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <future>
#include <optional>
#include <set>
#include <thread>

#include "base/files.h"
#include "shards/convert/convert.h"
#include "storage/decorator/forwarding_store.h"
#include "storage/memory/memory_store.h"

namespace assay::shards {
namespace {

using testing::HasSubstr;

constexpr int kSamples = 500;

/// Reads of shards wait until two are on their way at once, for some minutes at most.
class MeetingStore : public storage::ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;
  Result<storage::ObjectInfo> Read(const std::string& key, std::span<const storage::ReadPiece> pieces,
                                   const storage::ReadOptions& options) override {
    if (key.ends_with(".mds")) {
      ++readers_;
      const auto until = std::chrono::steady_clock::now() + std::chrono::minutes(5);
      while (readers_ < 2 && std::chrono::steady_clock::now() < until) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
      has_met_ = has_met_ || readers_ == 2;
    }
    return ForwardingStore::Read(key, pieces, options);
  }
  bool has_met() const { return has_met_; }

 private:
  std::atomic<int> readers_ = 0;
  std::atomic<bool> has_met_ = false;
};

/// Gives ten bytes of a shard a microsecond.
class SlowStore : public storage::ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;
  Result<storage::ObjectInfo> Read(const std::string& key, std::span<const storage::ReadPiece> pieces,
                                   const storage::ReadOptions& options) override {
    if (key.ends_with(".mds")) {
      for (const storage::ReadPiece& piece : pieces) {
        std::this_thread::sleep_for(std::chrono::microseconds(piece.memory.size() / 10));
      }
    }
    return ForwardingStore::Read(key, pieces, options);
  }
};

class SampleStreamTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string rows;
    for (int i = 0; i < kSamples; ++i) {
      rows += fmt::format("{{\"n\": {}, \"t\": \"{}\"}}\n", i, std::string(i % 50, 'x'));
    }
    Put("rows.jsonl", rows);
    Make("set/", {.size_limit = 1000});
  }

  void Put(const std::string& key, const std::string& content) {
    const storage::Bytes bytes = std::as_bytes(std::span(content));
    ASSERT_TRUE(store_->Write(key, {&bytes, 1}, {}).ok());
  }

  std::string Get(const std::string& key) {
    std::string content;
    const auto allocate = [&](int64_t size) {
      content.resize(static_cast<size_t>(size));
      return std::as_writable_bytes(std::span(content));
    };
    EXPECT_TRUE(store_->ReadWhole(key, allocate, {}).ok());
    return content;
  }

  /// Five shards of 100 samples of 20 KB.
  void MakeLarge() {
    std::string rows;
    for (int i = 0; i < kSamples; ++i) {
      rows += fmt::format("{{\"n\": {}, \"t\": \"{}\"}}\n", i, std::string(20'000, 'x'));
    }
    Put("rows.jsonl", rows);
    Make("large/", {.size_limit = 2 << 20});
  }

  void Make(const std::string& prefix, const ConvertOptions& options) {
    const SourcePattern pattern{store_, "rows.jsonl"};
    const auto sources = FindSources({&pattern, 1}, {}, nullptr);
    const auto report = Convert(*sources, {.store = store_, .prefix = prefix}, options);
    ASSERT_EQ(report.status().message(), "");
  }

  std::vector<StreamSource> Sources(const std::string& prefix = "set/") {
    std::vector<StreamSource> sources;
    sources.push_back({.dataset = *OpenDataset({.store = store_, .prefix = prefix})});
    return sources;
  }

  StreamOptions Options(int64_t ranks = 1, int64_t rank = 0, int64_t batch = 8) {
    return {.order = {.batch = batch}, .world = {.ranks_per_node = ranks}, .rank = rank, .threads = 2};
  }

  /// Up to `count` samples, each of which holds its number.
  static std::vector<int64_t> Take(SampleStream& stream, int64_t count = kSamples * 2) {
    std::vector<int64_t> numbers;
    Row row;
    std::string scratch;
    while (static_cast<int64_t>(numbers.size()) < count) {
      const auto sample = stream.Next();
      EXPECT_EQ(sample.status().message(), "");
      if (!sample.ok() || !*sample) {
        break;
      }
      EXPECT_TRUE(DecodeSample(*(*sample)->schema, (*sample)->bytes, row, scratch).ok());
      EXPECT_EQ(row[0].integer, (*sample)->number);
      numbers.push_back((*sample)->number);
    }
    return numbers;
  }

  std::vector<int64_t> Expected(const StreamOptions& options, const EpochPosition& position = {}) {
    const EpochOrder order =
        *EpochOrder::Make(ShapesOf(Sources()), *ResolveOrder(options.order, options.world), options.world, position);
    std::vector<int64_t> numbers;
    for (int64_t k = 0; k < order.per_rank(); ++k) {
      if (const int64_t sample = order.OfRank(options.rank, k); sample >= 0) {
        numbers.push_back(sample);
      }
    }
    return numbers;
  }

  std::shared_ptr<storage::ObjectStore> store_ = std::make_shared<storage::MemoryStore>("test");
};

TEST_F(SampleStreamTest, GivesEachRankItsOrderEpochAfterEpoch) {
  for (int64_t rank = 0; rank < 3; ++rank) {
    const StreamOptions options = Options(3, rank);
    const auto stream = *SampleStream::Open(Sources(), options);
    EXPECT_EQ(stream->left(), static_cast<int64_t>(Expected(options).size()));
    EXPECT_EQ(Take(*stream), Expected(options));
    ASSERT_TRUE(stream->NextEpoch().ok());
    EXPECT_EQ(Take(*stream), Expected(options, {.epoch = 1}));
  }
}

TEST_F(SampleStreamTest, BeginsWhereItIsTold) {
  StreamOptions options = Options();
  std::vector<int64_t> rest = Expected(options, {.epoch = 2});
  rest.erase(rest.begin(), rest.begin() + 24);
  options.begin = {.epoch = 2, .samples = 24};
  const auto stream = *SampleStream::Open(Sources(), options);
  EXPECT_EQ(Take(*stream), rest);
  ASSERT_TRUE(stream->NextEpoch().ok());
  EXPECT_EQ(Take(*stream), Expected(options, {.epoch = 3}));
}

TEST_F(SampleStreamTest, MemoryForOneShardIsEnough) {
  for (const char* compression : {"", "zstd"}) {
    const std::string prefix = fmt::format("small{}/", compression);
    Make(prefix, {.compression = *Compression::Parse(compression), .size_limit = 1000});
    StreamOptions options = Options();
    options.memory_bytes = 1;
    options.order.shuffle = ShuffleAlgorithm::kNaive;
    const auto stream = *SampleStream::Open(Sources(prefix), options);
    EXPECT_EQ(Take(*stream), Expected(options));
    EXPECT_GT(stream->counters().fetched_shards, kSamples / 2);  // almost every sample's shard had to make room
  }
}

TEST_F(SampleStreamTest, ShardsAreFetchedOnceWhereMemoryIsEnough) {
  const auto stream = *SampleStream::Open(Sources(), Options());
  Take(*stream);
  ASSERT_TRUE(stream->NextEpoch().ok());
  Take(*stream);
  EXPECT_EQ(stream->counters().fetched_shards, static_cast<int64_t>(Sources()[0].dataset.index.shards.size()));
  EXPECT_EQ(stream->counters().samples, 2 * kSamples);
}

TEST_F(SampleStreamTest, FewSamplesOfLargeShardsAreFetchedAlone) {
  MakeLarge();
  StreamOptions options = Options();
  options.speed = {.wait_seconds = 0, .bytes_per_second = 1};
  options.order.shuffle = ShuffleAlgorithm::kPy1s;
  options.order.canonical_nodes = 1;
  options.order.epoch_size = 40;  // of 100 samples in each shard eight are taken
  for (const int64_t memory : {int64_t{1} << 30, int64_t{100'000}}) {
    options.memory_bytes = memory;
    const auto stream = *SampleStream::Open(Sources("large/"), options);
    for (int epoch = 0; epoch < 3; ++epoch) {
      EXPECT_EQ(Take(*stream).size(), 40u);
      ASSERT_TRUE(stream->NextEpoch().ok());
    }
    const StreamCounters counters = stream->counters();
    EXPECT_GE(counters.fetched_samples, 3 * 40);
    EXPECT_EQ(counters.fetched_shards, 0);
    EXPECT_LT(counters.fetched_bytes, 8 * 40 * 20'000);
  }
  options.order.epoch_size = 0;
  const auto stream = *SampleStream::Open(Sources("large/"), options);
  EXPECT_EQ(Take(*stream).size(), size_t{kSamples});
  options.memory_bytes = int64_t{1} << 30;
  const auto roomy = *SampleStream::Open(Sources("large/"), options);
  EXPECT_EQ(Take(*roomy).size(), size_t{kSamples});
  EXPECT_EQ(roomy->counters().fetched_samples, 0);
  std::string shard((*FindBlob({.store = store_}, "large/shard.00000.mds"))->text());
  shard[shard.size() / 2] ^= 1;
  Put("large/shard.00000.mds", shard);
  options.memory_bytes = 100'000;
  const auto damaged = *SampleStream::Open(Sources("large/"), options);
  Result<std::optional<StreamedSample>> sample = damaged->Next();
  for (; sample.ok() && *sample; sample = damaged->Next()) {
  }
  EXPECT_THAT(sample.status().message(), HasSubstr("large/shard.00000.mds is damaged"));
}

TEST_F(SampleStreamTest, SamplesAreFetchedAloneOnceShardsWereSlow) {
  MakeLarge();
  store_ = std::make_shared<SlowStore>(store_);
  StreamOptions options = Options();
  options.order.shuffle = ShuffleAlgorithm::kPy1s;
  options.order.canonical_nodes = 1;
  options.order.epoch_size = 40;
  options.memory_bytes = 100'000;  // shards come one by one
  const auto stream = *SampleStream::Open(Sources("large/"), options);
  EXPECT_EQ(Take(*stream).size(), 40u);
  // More than one where the machine made the table's read slow too.
  EXPECT_LT(stream->counters().fetched_shards, 5);
  EXPECT_GT(stream->counters().fetched_samples, 0);
}

TEST_F(SampleStreamTest, AnotherNumberOfRanksGoesOnWithTheSameOrder) {
  // Three global batches of 8 by 2 ranks; then by 4 ranks.
  StreamState state;
  for (int64_t rank = 0; rank < 2; ++rank) {
    const auto stream = *SampleStream::Open(Sources(), Options(2, rank, 4));
    Take(*stream, 12);
    state = stream->state();
  }
  EXPECT_EQ(state.position.samples, 24);
  const StreamState read = *ParseState(FormatState(state), "state");
  EXPECT_EQ(FormatState(read), FormatState(state));
  const std::vector<int64_t> whole = Expected(Options(1, 0, 8));
  std::vector<std::vector<int64_t>> of_ranks;
  for (int64_t rank = 0; rank < 4; ++rank) {
    of_ranks.push_back(Take(**SampleStream::Open(Sources(), Options(4, rank, 2), &read)));
  }
  for (size_t batch = 0; batch < (kSamples - 24) / 8; ++batch) {
    std::multiset<int64_t> expected(whole.begin() + 24 + 8 * batch, whole.begin() + 32 + 8 * batch);
    std::multiset<int64_t> got;
    for (const std::vector<int64_t>& of_rank : of_ranks) {
      got.insert(of_rank.begin() + 2 * batch, of_rank.begin() + 2 * batch + 2);
    }
    EXPECT_EQ(got, expected) << batch;
  }
}

TEST_F(SampleStreamTest, GoesOnNearTheEndWhereCanonicalNodesRepeatSamples) {
  constexpr int64_t kDealt = 504;  // to 7 canonical nodes
  for (const int64_t ranks : {1, 2}) {
    StreamOptions options = Options(ranks);
    options.order.canonical_nodes = 7;
    options.order.batch = 6 / ranks;
    const std::vector<int64_t> whole = Take(**SampleStream::Open(Sources(), options));
    ASSERT_EQ(static_cast<int64_t>(whole.size()), kDealt / ranks);
    for (int64_t taken = (kDealt - 18) / ranks; taken <= kDealt / ranks; taken += 6 / ranks) {
      const auto stream = *SampleStream::Open(Sources(), options);
      Take(*stream, taken);
      const StreamState state = stream->state();
      EXPECT_EQ(state.position.samples, taken * ranks);
      EXPECT_EQ(Take(**SampleStream::Open(Sources(), options, &state)),
                std::vector(whole.begin() + taken, whole.end()));
    }
  }
}

TEST_F(SampleStreamTest, FewerRanksGoOnFromTheEndOfAnEpochThatMoreOnesPadded) {
  StreamOptions options = Options(1, 0, 1);
  options.world.nodes = 8;  // of which 500 samples are no multiple
  options.order.canonical_nodes = 1;
  const auto stream = *SampleStream::Open(Sources(), options);
  Take(*stream);
  const StreamState state = stream->state();
  EXPECT_EQ(state.position.samples, 504);
  StreamOptions fewer = Options(1, 0, 8);
  fewer.order.canonical_nodes = 1;
  const auto rest = SampleStream::Open(Sources(), fewer, &state);
  ASSERT_EQ(rest.status().message(), "");
  EXPECT_TRUE(Take(**rest).empty());
  ASSERT_TRUE((*rest)->NextEpoch().ok());
  EXPECT_EQ(Take(**rest).size(), 500U);
}

TEST_F(SampleStreamTest, AnotherOrderIsRefusedByName) {
  const StreamState state = (*SampleStream::Open(Sources(), Options()))->state();
  const auto refusal = [&](StreamOptions options, const std::string& prefix = "set/") {
    return SampleStream::Open(Sources(prefix), options, &state).status().message();
  };
  EXPECT_EQ(refusal(Options()), "");
  StreamOptions options = Options();
  options.order.seed = 1;
  EXPECT_THAT(refusal(options), HasSubstr("its seed was 9176 and is 1 now"));
  options = Options();
  options.order.block = 5;
  EXPECT_THAT(refusal(options), HasSubstr("its block was"));
  EXPECT_THAT(refusal(Options(1, 0, 4)), HasSubstr("its global batch was 8 and is 4 now"));
  Put("rows.jsonl", "{\"n\": 0, \"t\": \"y\"}\n");
  Make("other/", {});
  EXPECT_THAT(refusal(Options(), "other/"), HasSubstr("its data set mem://test/other/ was"));
}

TEST_F(SampleStreamTest, AStateThatIsNoneIsRefused) {
  for (const char* sources : {"[5]", R"([{"weight": 5}])"}) {
    const auto read = ParseState(fmt::format(R"({{"format": 1, "order": {{"shuffle": "none", "batching": "random"}},)"
                                             R"("sources": {}}})",
                                             sources),
                                 "state");
    EXPECT_THAT(read.status().message(), HasSubstr("a data set of it is none")) << sources;
  }
}

TEST_F(SampleStreamTest, MoreSamplesThanAnEpochHasAreRefused) {
  std::vector<StreamSource> sources = Sources();
  sources[0].dataset.index.shards[0].samples = UINT32_MAX;
  EXPECT_THAT(SampleStream::Open(std::move(sources), Options(), nullptr).status().message(),
              HasSubstr("an epoch has 4294967295 at most"));
}

TEST_F(SampleStreamTest, ADamagedShardEndsItOrIsLeftOut) {
  const Dataset dataset = Sources()[0].dataset;
  const ShardEntry& shard = dataset.index.shards[3];
  const std::string whole = Get("set/" + shard.raw_data.basename);
  Put("set/" + shard.raw_data.basename, std::string(static_cast<size_t>(shard.raw_data.bytes), 'x'));
  StreamOptions options = Options();
  Result<std::optional<StreamedSample>> sample = std::optional<StreamedSample>();
  const auto stream = *SampleStream::Open(Sources(), options);
  do {
    sample = stream->Next();
  } while (sample.ok() && *sample);
  EXPECT_THAT(sample.status().message(), HasSubstr(shard.raw_data.basename + " is damaged: its crc32c is another"));
  options.skip_damaged = true;
  const auto skipping = *SampleStream::Open(Sources(), options);
  EXPECT_EQ(static_cast<int64_t>(Take(*skipping).size()), kSamples - shard.samples);
  EXPECT_EQ(skipping->counters().skipped, shard.samples);
  EXPECT_EQ(skipping->state().skipped, shard.samples);
  Put("set/" + shard.raw_data.basename, whole);
  ASSERT_TRUE(skipping->NextEpoch().ok());
  EXPECT_EQ(Take(*skipping), Expected(options, {.epoch = 1}));
  EXPECT_EQ(skipping->counters().skipped, shard.samples);
}

TEST_F(SampleStreamTest, RanksShareACache) {
  const TemporaryDirectory folder = *TemporaryDirectory::Create("cache");
  const auto open = [&](int64_t rank) {
    StreamOptions options = Options(2, rank);
    options.cache_folder = folder.path();
    return *SampleStream::Open(Sources(), options);
  };
  int64_t fetched = 0;
  {
    const auto first = open(0);
    const auto second = open(1);
    std::thread other([&] { EXPECT_EQ(Take(*second), Expected(Options(2, 1))); });
    EXPECT_EQ(Take(*first), Expected(Options(2, 0)));
    other.join();
    fetched = first->counters().fetched_shards + second->counters().fetched_shards;
  }
  EXPECT_EQ(fetched, static_cast<int64_t>(Sources()[0].dataset.index.shards.size()));
  const auto again = open(0);
  Take(*again);
  EXPECT_EQ(again->counters().fetched_shards, 0);
}

TEST_F(SampleStreamTest, AShardIsTakenOnceItIsCachedWhoeverHasTheClaim) {
  Make("one/", {});
  const TemporaryDirectory from = *TemporaryDirectory::Create("from");
  const TemporaryDirectory to = *TemporaryDirectory::Create("to");
  const auto take = [&](const std::string& folder) {
    StreamOptions options = Options();
    options.cache_folder = folder;
    const auto stream = *SampleStream::Open(Sources("one/"), options);
    EXPECT_EQ(Take(*stream).size(), size_t{kSamples});
    return stream->counters().fetched_shards;
  };
  EXPECT_EQ(take(from.path()), 1);
  const std::filesystem::path cached = std::filesystem::directory_iterator(from.path())->path();
  const std::string name = cached.stem().string().substr(std::string_view("assay-").size());
  const auto cache = *DiskCache::Open(to.path(), 1 << 20);
  std::optional<DiskCache::Claim> claim = cache->TryClaim(name);
  ASSERT_TRUE(claim);
  auto waiting = std::async(std::launch::async, [&] { return take(to.path()); });
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  std::filesystem::create_hard_link(cached, std::filesystem::path(to.path()) / cached.filename());
  // The claim is waited for by some minutes.
  EXPECT_EQ(waiting.wait_for(std::chrono::seconds(90)), std::future_status::ready);
  claim.reset();
  EXPECT_EQ(waiting.get(), 0);
}

// A data file that is damaged is removed when it is read.
TEST_F(SampleStreamTest, OfACachedShardWithoutItsOffsetsNothingIsRead) {
  const std::string row = "{\"n\": 1}\n";
  const std::array<uint32_t, 4> meta = {2, 0, static_cast<uint32_t>(row.size()), static_cast<uint32_t>(2 * row.size())};
  Put("json/a.json", row + row);
  Put("json/a.json.meta", std::string(reinterpret_cast<const char*>(meta.data()), sizeof(meta)));
  Put("json/index.json", fmt::format(R"({{"version": 2, "shards": [{{"columns": {{"n": "int"}}, "compression": null,
        "format": "json", "version": 2, "hashes": [], "newline": "\n", "samples": 2, "size_limit": null, "zip_data": null, "zip_meta": null,
        "raw_data": {{"basename": "a.json", "bytes": {}, "hashes": {{}}}},
        "raw_meta": {{"basename": "a.json.meta", "bytes": {}, "hashes": {{}}}}}}]}})",
                                     2 * row.size(), sizeof(meta)));
  const TemporaryDirectory folder = *TemporaryDirectory::Create("cache");
  std::atomic<bool> cancel = false;
  const auto next = [&]() -> Status {
    StreamOptions options = Options();
    options.order.batch = 1;
    options.cache_folder = folder.path();
    std::vector<StreamSource> sources;
    Result<Dataset> dataset = OpenDataset({.store = store_, .prefix = "json/"});
    ASSAY_RETURN_IF_ERROR(dataset.status());
    dataset->place.cancel = &cancel;
    sources.push_back({.dataset = *std::move(dataset)});
    const auto stream = SampleStream::Open(std::move(sources), options);
    return stream.ok() ? (*stream)->Next().status() : stream.status();
  };
  ASSERT_EQ(next().message(), "");
  const std::filesystem::path data = [&] {
    std::filesystem::path found;
    for (const auto& entry : std::filesystem::directory_iterator(folder.path())) {
      if (entry.path().stem().string().ends_with('m')) {
        std::filesystem::remove(entry.path());
      } else {
        found = entry.path();
      }
    }
    return found;
  }();
  std::string damaged = *ReadFile(data.string());
  damaged[0] ^= 1;
  ASSERT_TRUE(WriteFileAtomically(data.string(), damaged).ok());
  const auto cache = *DiskCache::Open(folder.path(), 1 << 20);
  const auto claim = cache->TryClaim(data.stem().string().substr(std::string_view("assay-").size()));
  ASSERT_TRUE(claim);
  cancel = true;
  EXPECT_FALSE(next().ok());
  EXPECT_TRUE(FileExists(data.string()));
}

TEST_F(SampleStreamTest, NobodyWaitsForAShardThatTheCacheCannotTake) {
  Make("one/", {});
  const TemporaryDirectory folder = *TemporaryDirectory::Create("cache");
  const auto meeting = std::make_shared<MeetingStore>(store_);
  const auto open = [&](int64_t rank) {
    StreamOptions options = Options(2, rank);
    options.cache_folder = folder.path();
    options.cache_bytes = 100;
    std::vector<StreamSource> sources;
    sources.push_back({.dataset = *OpenDataset({.store = meeting, .prefix = "one/"})});
    return *SampleStream::Open(std::move(sources), options);
  };
  const auto first = open(0);
  const auto second = open(1);
  std::thread other([&] { EXPECT_EQ(Take(*second).size(), kSamples / 2); });
  EXPECT_EQ(Take(*first).size(), kSamples / 2);
  other.join();
  EXPECT_TRUE(meeting->has_met());
  EXPECT_EQ(first->counters().unkept_shards, 1);
  EXPECT_THAT(std::string(first->cache_error().message()), HasSubstr("give it a higher limit"));
}

TEST_F(SampleStreamTest, FewerSamplesThanRanksAreRefused) {
  EXPECT_THAT(SampleStream::Open(Sources(), Options(kSamples + 1)).status().message(), HasSubstr("take fewer ranks"));
}

}  // namespace
}  // namespace assay::shards
