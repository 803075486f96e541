#include "checkpoint/dcp/dcp_metadata.h"

#include <limits>

#include "checkpoint/testing.h"

namespace assay::checkpoint {
namespace {

using testing::HasSubstr;

DcpMetadata Example() {
  DcpMetadata metadata = {.save_id = "12", .checkpoint_id = "/x"};
  DcpEntry tensor = {.name = "a.w", .path = {std::string("a"), int64_t{2}}, .is_tensor = true};
  tensor.dtype = DType::kBFloat16;
  tensor.requires_grad = true;
  tensor.shape = {4, 3};
  tensor.chunks = {{{{0, 0}, {3, 3}}, {"__0_0.distcp", 64, 1000}}, {{{3, 0}, {1, 3}}, {"p/__1_0.distcp", 1 << 30, 7}}};
  DcpEntry value = {.name = "n", .path = {std::string("n")}};
  value.chunks = {{{}, {"__0_0.distcp", 0, 60}}};
  metadata.entries = {tensor, value};
  return metadata;
}

TEST(DcpMetadata, IsReadAsItWasWritten) {
  const std::string written = WriteDcpMetadata(Example());
  const DcpMetadata read = Must(ReadDcpMetadata(written, "m"));
  EXPECT_EQ(WriteDcpMetadata(read), written);
  EXPECT_EQ(read.save_id, "12");
  ASSERT_EQ(read.entries.size(), 2u);
  EXPECT_EQ(read.entries[0].path[1], PathStep(int64_t{2}));
  EXPECT_TRUE(read.entries[0].requires_grad);
  EXPECT_EQ(read.entries[0].chunks[1].place.offset, 1 << 30);
  EXPECT_FALSE(read.entries[1].is_tensor);
}

TEST(DcpMetadata, FilesLieInTheFolder) {
  for (const char* file : {"../x", "/etc/passwd", "a/../../x", "", "a//b", "./a"}) {
    DcpMetadata metadata = Example();
    metadata.entries[0].chunks[0].place.file = file;
    EXPECT_THAT(ErrorOf(ReadDcpMetadata(WriteDcpMetadata(metadata), "m")), HasSubstr("no file of its folder")) << file;
  }
}

TEST(DcpMetadata, ChunksLieInTheirTensor) {
  DcpMetadata metadata = Example();
  metadata.entries[0].chunks[1].box.offsets = {3, 1};
  EXPECT_THAT(ErrorOf(ReadDcpMetadata(WriteDcpMetadata(metadata), "m")), HasSubstr("does not lie within its shape"));
}

TEST(DcpMetadata, ItemsEndSomewhere) {
  DcpMetadata metadata = Example();
  metadata.entries[0].chunks[0].place.offset = std::numeric_limits<int64_t>::max() - 999;
  EXPECT_THAT(ErrorOf(ReadDcpMetadata(WriteDcpMetadata(metadata), "m")), HasSubstr("no offset and length"));
}

// Hardly four bytes an object, since few texts are named again and again.
TEST(DcpMetadata, FewTensorsOfAThousandRanksAreRead) {
  constexpr int64_t kRows = 1 << 21;
  DcpMetadata metadata = {.save_id = "12", .checkpoint_id = "/x"};
  for (int64_t tensor = 0; tensor < 48; ++tensor) {
    const std::string name = "w" + std::to_string(tensor);
    DcpEntry entry = {.name = name, .path = {name}, .is_tensor = true};
    entry.shape = {1024 * kRows};
    for (int64_t rank = 0; rank < 1024; ++rank) {
      const std::string file = "__" + std::to_string(rank) + "_0.distcp";
      entry.chunks.push_back({{{rank * kRows}, {kRows}}, {file, tensor << 22, 1 << 22}});
    }
    metadata.entries.push_back(std::move(entry));
  }
  EXPECT_EQ(Must(ReadDcpMetadata(WriteDcpMetadata(metadata), "m")).entries.size(), 48U);
}

TEST(DcpMetadata, WhatIsNamedAgainIsBounded) {
  const std::string name(200, 'n');
  std::vector<DcpMetadata> examples(3, Example());
  examples[0].entries[0].name = name;
  examples[1].entries[0].path.assign(400, PathStep(name));
  for (const size_t i : {0, 2}) {
    DcpEntry& entry = examples[i].entries[0];
    entry.shape = {400, 3};
    entry.chunks.clear();
    for (int64_t row = 0; row < 400; ++row) {
      entry.chunks.push_back({{{row, 0}, {1, 3}}, {i == 2 ? name : "x", row, 1}});
    }
  }
  for (const DcpMetadata& metadata : examples) {
    std::string written = WriteDcpMetadata(metadata);
    EXPECT_TRUE(ReadDcpMetadata(written, "m").ok());
    // It is in the file once, and 400 times in what is made of it.
    const size_t text = written.find(std::string("X\xc8\0\0\0", 5) + name);
    ASSERT_NE(text, std::string::npos);
    written.replace(text, 205, std::string("X\0\0\1\0", 5) + std::string(1 << 16, 'n'));
    EXPECT_THAT(ErrorOf(ReadDcpMetadata(written, "m")), HasSubstr("pickle bomb"));
  }
}

TEST(DcpMetadata, EveryCutIsAnError) {
  const std::string written = WriteDcpMetadata(Example());
  for (size_t size = 0; size < written.size(); ++size) {
    EXPECT_FALSE(ReadDcpMetadata(written.substr(0, size), "m").ok()) << size;
  }
}

}  // namespace
}  // namespace assay::checkpoint
