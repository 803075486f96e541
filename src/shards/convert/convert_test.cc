// Conversions in memory: the same whatever the threads, one at a time, gone on with after a crash.
#include "shards/convert/convert.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <atomic>
#include <chrono>
#include <map>
#include <nlohmann/json.hpp>
#include <thread>

#include "shards/convert/claim.h"
#include "shards/dataset/verify.h"
#include "shards/format/tar.h"
#include "storage/decorator/forwarding_store.h"
#include "storage/memory/memory_store.h"

namespace assay::shards {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

class ConvertTest : public testing::Test {
 protected:
  void Put(const std::string& key, const std::string& content) {
    const storage::Bytes bytes = std::as_bytes(std::span(content));
    ASSERT_TRUE(store_->Write(key, {&bytes, 1}, {}).ok());
  }

  /// Some rows in two files.
  void PutRows(int rows) {
    std::string text[2];
    for (int i = 0; i < rows; ++i) {
      text[i % 3 == 0 ? 0 : 1] += fmt::format("{{\"text\": \"{}\", \"label\": {}}}\n", std::string(i % 97, 'x'), i);
    }
    Put("rows/a.jsonl", text[0]);
    Put("rows/b.jsonl", text[1]);
  }

  std::vector<SourceFile> Sources(const std::string& key = "rows/") {
    const SourcePattern pattern{store_, key};
    return *FindSources({&pattern, 1}, {}, nullptr);
  }

  Result<ConvertReport> Run(const std::string& prefix, const ConvertOptions& options = {}) {
    return Run(prefix, options, Sources());
  }
  Result<ConvertReport> Run(const std::string& prefix, ConvertOptions options, std::span<const SourceFile> sources) {
    options.size_limit = 2000;
    return Convert(sources, {.store = store_, .prefix = prefix}, options);
  }

  /// A conversion that is interrupted when its first rows are taken.
  void CutOff(const std::string& prefix, const ConvertOptions& options) { CutOff(prefix, options, Sources()); }
  void CutOff(const std::string& prefix, ConvertOptions options, std::span<const SourceFile> sources) {
    std::atomic<bool> stop = false;
    int64_t read = 0;
    options.size_limit = 2000;
    options.progress = [&](int64_t bytes) { stop = (read += bytes) > 0; };
    const DatasetPlace place{.store = store_, .prefix = prefix, .cancel = &stop};
    EXPECT_EQ(Convert(sources, place, options).status().code(), ErrorCode::kAborted);
  }

  /// What stands below `prefix`, but for who wrote it.
  std::map<std::string, std::string> Files(const std::string& prefix) {
    std::map<std::string, std::string> files;
    const auto listed = store_->List({.prefix = prefix});
    for (const storage::ObjectInfo& info : listed->objects) {
      const DatasetPlace place{.store = store_};
      const Blob blob = **FindBlob(place, info.key);
      files[info.key.substr(prefix.size())] = std::string(blob.text());
    }
    return files;
  }

  std::vector<std::string> Damages(const std::string& prefix) {
    const Dataset dataset = *OpenDataset({.store = store_, .prefix = prefix});
    return VerifyDataset(dataset, 1, [](int64_t) {})->damages;
  }

  std::shared_ptr<storage::ObjectStore> store_ = std::make_shared<storage::MemoryStore>("test");
};

TEST_F(ConvertTest, IsTheSameWhateverTheThreads) {
  PutRows(500);
  ASSERT_EQ(Run("one/", {.threads = 1}).status().message(), "");
  ASSERT_TRUE(Run("four/", {.threads = 4}).ok());
  EXPECT_EQ(Files("one/"), Files("four/"));
  EXPECT_GT(Files("one/").size(), 10u);
  EXPECT_THAT(Damages("one/"), IsEmpty());
}

TEST_F(ConvertTest, APlaceIsTakenOnce) {
  PutRows(10);
  ASSERT_TRUE(Run("set/").ok());
  EXPECT_THAT(Run("set/").status().message(), HasSubstr("a data set stands at"));
  ASSERT_TRUE(ClaimPlace({.store = store_, .prefix = "other/"}, "{}").ok());
  EXPECT_THAT(Run("other/").status().message(), HasSubstr("is under way or was cut off"));
  EXPECT_THAT(Run("other/", {.resume = true}).status().message(), HasSubstr("had other schema"));
  EXPECT_THAT(Run("third/", {.resume = true}).status().message(), HasSubstr("there is nothing to resume at"));
}

TEST_F(ConvertTest, GoesOnAfterAnyShard) {
  PutRows(300);
  ASSERT_TRUE(Run("whole/").ok());
  const auto whole = Files("whole/");
  for (const int threads : {1, 3}) {
    const std::string prefix = fmt::format("cut{}/", threads);
    CutOff(prefix, {.threads = threads});
    EXPECT_EQ(OpenDataset({.store = store_, .prefix = prefix}).status().code(), ErrorCode::kFailedPrecondition);
    const auto report = Run(prefix, {.threads = threads, .resume = true});
    ASSERT_EQ(report.status().message(), "");
    EXPECT_GT(report->resumed_shards, 0);
    EXPECT_LT(report->resumed_shards, report->shards);
    EXPECT_EQ(Files(prefix), whole);
  }
}

TEST_F(ConvertTest, WhatIsWrittenWhenItIsCancelledIsCutOff) {
  /// Takes shards for as long as nobody cuts that off.
  class StuckStore final : public storage::ForwardingStore {
   public:
    using ForwardingStore::ForwardingStore;
    Result<storage::ObjectInfo> Write(const std::string& key, std::span<const storage::Bytes> buffers,
                                      const storage::WriteOptions& options) override {
      if (!key.ends_with(".mds")) {
        return ForwardingStore::Write(key, buffers, options);
      }
      stop = true;
      while (!*options.cancel) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
      return Status::Aborted("cut off");
    }
    std::atomic<bool> stop = false;
  };
  PutRows(300);
  const auto stuck = std::make_shared<StuckStore>(store_);
  const ConvertOptions options{.size_limit = 2000};
  const DatasetPlace place{.store = stuck, .prefix = "set/", .cancel = &stuck->stop};
  EXPECT_EQ(Convert(Sources(), place, options).status().code(), ErrorCode::kAborted);
}

TEST_F(ConvertTest, GoesOnFromAPlanThatSaysNothingOfTokens) {
  PutRows(300);
  CutOff("cut/", {});
  nlohmann::json plan = nlohmann::json::parse(Files("cut/").at(std::string(kUnfinishedPlanName)));
  EXPECT_EQ(plan.erase("tokenizer_hash"), 1u);
  Put("cut/" + std::string(kUnfinishedPlanName), plan.dump());
  const auto report = Run("cut/", {.resume = true});
  ASSERT_EQ(report.status().message(), "");
  EXPECT_GT(report->resumed_shards, 0);
}

TEST_F(ConvertTest, GoesOnFromAnyKindOfRowsInAnyFormat) {
  PutRows(300);
  for (const char* name : {"tars/a.tar", "tars/b.tar"}) {
    std::string tar;
    for (int i = 0; i < 100; ++i) {
      const std::string text(static_cast<size_t>(i), name[5]);
      ASSERT_TRUE(AppendTarMember(tar, fmt::format("{:04}.txt", i), std::as_bytes(std::span(text))).ok());
    }
    tar += TarEnd(tar.size());
    Put(name, tar);
  }
  SyntheticRows rows{.seed = 3, .samples = 9000};
  ASSERT_TRUE(rows.SetShape("text:8-32").ok());
  const std::vector<SourceFile> drawn = {SyntheticSource(rows)};
  for (const ShardFormat format : {ShardFormat::kMds, ShardFormat::kWebDataset}) {
    for (const auto& [name, sources] : {std::pair("rows", Sources()), {"tars", Sources("tars/")}, {"drawn", drawn}}) {
      const std::string prefix = fmt::format("{}-{}/", name, IndexNameOf(format));
      ASSERT_EQ(Run("whole-" + prefix, {.format = format}, sources).status().message(), "");
      CutOff(prefix, {.format = format}, sources);
      const auto report = Run(prefix, {.format = format, .resume = true}, sources);
      ASSERT_EQ(report.status().message(), "") << prefix;
      EXPECT_GT(report->resumed_shards, 0) << prefix;
      EXPECT_LT(report->resumed_shards, report->shards) << prefix;
      EXPECT_EQ(Files(prefix), Files("whole-" + prefix)) << prefix;
    }
  }
}

TEST_F(ConvertTest, OnlyTheSameConversionEndsOneThatWasPublished) {
  PutRows(50);
  for (const bool append : {false, true}) {
    ASSERT_EQ(Run("set/", {.append = append}).status().message(), "");
    const Dataset dataset = *OpenDataset({.store = store_, .prefix = "set/"});
    const std::string plan = FormatPlan(Sources(), *dataset.index.shards.back().schema, "", dataset.manifest->version);
    Put("set/" + std::string(kUnfinishedPlanName), plan);
    Put("other.jsonl", "{\"text\": \"a\", \"label\": 1}\n");
    const ConvertOptions options{.size_limit = 2000, .append = append, .resume = true};
    EXPECT_THAT(Convert(Sources("other.jsonl"), {.store = store_, .prefix = "set/"}, options).status().message(),
                HasSubstr("had other sources"));
    const auto ended = Run("set/", options);
    ASSERT_EQ(ended.status().message(), "");
    EXPECT_EQ(ended->rows, 50);
    EXPECT_EQ(ended->resumed_shards, ended->shards);
    EXPECT_FALSE(Files("set/").contains(kUnfinishedPlanName));
  }
}

TEST_F(ConvertTest, TokensStandBesideTheirRowsAndAreCounted) {
  PutRows(300);
  const RowTokenizer tokenizer{.tokenize =
                                   [](std::string_view json) {
                                     const std::vector<int32_t> ids(json.size(), 7);
                                     return RowTokens{.ids = ids, .labels = ids};
                                   },
                               .hash = "of sizes"};
  int64_t bytes = 0;
  for (const SourceFile& source : Sources()) {
    bytes += source.info.size;
  }
  const auto whole = Run("whole/", {.tokenizer = tokenizer});
  ASSERT_EQ(whole.status().message(), "");
  EXPECT_EQ(whole->tokens, bytes - 300);  // but for the ends of the lines
  EXPECT_THAT(Damages("whole/"), IsEmpty());
  CutOff("cut/", {.tokenizer = tokenizer});
  EXPECT_THAT(Run("cut/", {.resume = true}).status().message(), HasSubstr("had other schema"));
  RowTokenizer other = tokenizer;
  other.hash = "of another";
  EXPECT_THAT(Run("cut/", {.tokenizer = other, .resume = true}).status().message(), HasSubstr("had other tokenizer"));
  EXPECT_EQ(Run("cut/", {.tokenizer = tokenizer, .resume = true})->tokens, whole->tokens);
  EXPECT_EQ(Files("cut/"), Files("whole/"));
  EXPECT_THAT(Run("whole/", {.tokenizer = other, .append = true}).status().message(),
              HasSubstr("holds tokens of another tokenizer"));
}

TEST_F(ConvertTest, ARowThatCannotBeTakenLeavesNothing) {
  PutRows(200);
  Put("rows/c.jsonl", "{\"text\": \"\", \"label\": 1}\n\n{\"text\": \"\", \"label\": 1.5}\n");
  const Status refused = Run("set/", {.columns = *ParseColumns("text:str,label:int32")}).status();
  EXPECT_THAT(refused.message(), HasSubstr("rows/c.jsonl:3: column 'label': it is a number with a fraction"));
  EXPECT_THAT(Files("set/"), IsEmpty());
}

TEST_F(ConvertTest, AppendingMakesAVersionAndKeepsTheOld) {
  PutRows(50);
  ASSERT_TRUE(Run("set/").ok());
  const auto report = Run("set/", {.append = true});
  ASSERT_EQ(report.status().message(), "");
  EXPECT_EQ(report->version, 2);
  EXPECT_EQ(report->rows, 50);
  EXPECT_EQ(OpenDataset({.store = store_, .prefix = "set/"})->index.samples(), 100);
  EXPECT_EQ(OpenDataset({.store = store_, .prefix = "set/"}, 1)->index.samples(), 50);
  EXPECT_THAT(Damages("set/"), IsEmpty());
}

TEST_F(ConvertTest, ZerosBehindTheInferredRowsAreNotLost) {
  std::string text = "zip\n";
  for (int i = 0; i < 1200; ++i) {
    text += "90210\n";
  }
  Put("rows/a.csv", text + "02134\n");
  const auto converted = [&](const ConvertOptions& options) {
    return Convert(Sources("rows/a.csv"), {.store = store_, .prefix = "set/"}, options).status().message();
  };
  EXPECT_THAT(converted({}), HasSubstr("rows/a.csv:1202: column 'zip': '02134' would lose its zeros"));
  EXPECT_THAT(Files("set/"), IsEmpty());
  EXPECT_EQ(converted({.columns = *ParseColumns("zip:str")}), "");
}

TEST_F(ConvertTest, CsvLinesAreCountedOverQuotedNewlines) {
  Put("rows/a.csv", "i,t\n1,\"a\nb\"\n2,c\nx,d\n");
  EXPECT_THAT(
      Convert(Sources("rows/a.csv"), {.store = store_, .prefix = "set/"}, {.columns = *ParseColumns("i:int,t:str")})
          .status()
          .message(),
      HasSubstr("rows/a.csv:5: column 'i': 'x' is no number"));
}

}  // namespace
}  // namespace assay::shards
