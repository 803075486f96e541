#include "job/trace_file.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "base/json.h"

namespace assay::job {
namespace {

class TraceFileTest : public ::testing::Test {
 protected:
  void SetUp() override {
    directory_ = std::make_unique<TemporaryDirectory>(TemporaryDirectory::Create("trace").value());
  }

  void WriteRank(int64_t rank, int64_t spans) const {
    const auto trace = TraceFile::Create(directory_->path(), rank).value();
    for (int64_t i = 0; i < spans; ++i) {
      trace->Add({.lane = 1,
                  .name = "all_gather",
                  .category = "collective",
                  .start_seconds = static_cast<double>(i),
                  .end_seconds = static_cast<double>(i) + 0.5,
                  .step = i + 1,
                  .unit = "blocks.3 \"quoted\"",
                  .bytes = 4096});
    }
    ASSERT_TRUE(trace->Finish().ok());
  }

  std::unique_ptr<TemporaryDirectory> directory_;
};

TEST_F(TraceFileTest, MergesAllRanksIntoOneFile) {
  WriteRank(0, 2);
  WriteRank(1, 3000);  // more than one buffer
  const std::string path = MergeTraces(directory_->path(), 2).value();
  EXPECT_FALSE(FileExists(TracePath(directory_->path(), 0)));
  const nlohmann::json json = ReadJsonFile(path).value();
  std::map<int, int> spans;
  for (const nlohmann::json& event : json.at("traceEvents")) {
    spans[event.at("pid").get<int>()] += event.at("ph") == "X" ? 1 : 0;
  }
  EXPECT_EQ(spans, (std::map<int, int>{{0, 2}, {1, 3000}}));
  const nlohmann::json& last = json.at("traceEvents").back();
  EXPECT_EQ(last.at("args").at("unit"), "blocks.3 \"quoted\"");
  EXPECT_EQ(last.at("args").at("bytes"), 4096);
  EXPECT_DOUBLE_EQ(last.at("ts").get<double>(), 2999e6);
  EXPECT_DOUBLE_EQ(last.at("dur").get<double>(), 0.5e6);
}

TEST_F(TraceFileTest, NothingHalfWrittenIsLeft) {
  {
    const auto trace = TraceFile::Create(directory_->path(), 0).value();
    trace->Add({.name = "forward", .category = "phase"});
  }
  EXPECT_FALSE(FileExists(TracePath(directory_->path(), 0)));
  WriteRank(0, 1);
  const auto merged = MergeTraces(directory_->path(), 2);
  EXPECT_EQ(merged.status().code(), ErrorCode::kNotFound);
  EXPECT_THAT(merged.status().message(), ::testing::HasSubstr("trace-1.json"));
  EXPECT_FALSE(FileExists(directory_->path() + "/trace.json"));
}

}  // namespace
}  // namespace assay::job
