#include "checkpoint/dcp/dcp_metadata.h"

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

TEST(DcpMetadata, EveryCutIsAnError) {
  const std::string written = WriteDcpMetadata(Example());
  for (size_t size = 0; size < written.size(); ++size) {
    EXPECT_FALSE(ReadDcpMetadata(written.substr(0, size), "m").ok()) << size;
  }
}

}  // namespace
}  // namespace assay::checkpoint
