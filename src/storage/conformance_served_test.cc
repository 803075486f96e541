// Conformance of the remote stores, against the embedded object server in this process.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>

#include "base/file_descriptor.h"
#include "storage/conformance.h"
#include "storage/mapped_file.h"
#include "storage/served_store.h"

namespace assay::storage {
namespace {

std::vector<ConformanceTarget> Targets() {
  std::vector<ConformanceTarget> targets;
  std::vector<ServedCase> cases(std::begin(kServedCases), std::end(kServedCases));
  cases.push_back(kKmsCase);
  for (const ServedCase& served : cases) {
    targets.push_back({.name = served.name,
                       .make =
                           [served] {
                             return std::make_unique<ServedStore>(served.uri, objectserver::ServeOptions(),
                                                                  OptionsOf(served), served.access);
                           },
                       .presigns = served.presigns,
                       .unfinished_bytes = 11 << 20});
  }
  return targets;
}

INSTANTIATE_TEST_SUITE_P(Served, ObjectStoreConformance, testing::ValuesIn(Targets()), TargetName);

class FileOfAStore : public testing::TestWithParam<const char*> {};

// The memory is not that of the file here, so that it tells which of the two was used.
TEST_P(FileOfAStore, IsFilledWithoutItsPages) {
  constexpr int64_t kBytes = 11 << 20;
  ServedStore served(GetParam());
  const FileDescriptor file(::memfd_create("object", MFD_CLOEXEC));
  ASSERT_EQ(::ftruncate(file.get(), kBytes), 0);
  std::string memory(kBytes, '?');
  const MappedFile mapped = {file.get(), AsBytes(memory)};

  const std::string content = RandomContent(kBytes, 1);
  const Bytes bytes = AsBytes(content);
  ASSERT_THAT(served.store().Write("key", std::span(&bytes, 1), {}).status(), IsOk());
  const ReadPiece piece = {0, std::as_writable_bytes(std::span(memory))};
  ASSERT_THAT(served.store().Read("key", std::span(&piece, 1), {.file = &mapped}).status(), IsOk());
  std::string received(kBytes, ' ');
  ASSERT_EQ(::pread(file.get(), received.data(), kBytes, 0), kBytes);
  EXPECT_TRUE(received == content);
  EXPECT_EQ(std::ranges::count(memory, '?'), kBytes);
}

TEST_P(FileOfAStore, ThatCannotBeWrittenIsNamed) {
  ServedStore served(GetParam());
  const std::string content = RandomContent(1000, 1);
  const Bytes bytes = AsBytes(content);
  ASSERT_THAT(served.store().Write("key", std::span(&bytes, 1), {}).status(), IsOk());
  const FileDescriptor file = OpenFile("/dev/null", O_RDONLY);
  std::string memory(content.size(), '?');
  const MappedFile mapped = {file.get(), AsBytes(memory), "/some/file"};
  const ReadPiece piece = {0, std::as_writable_bytes(std::span(memory))};
  const Status status = served.store().Read("key", std::span(&piece, 1), {.file = &mapped}).status();
  EXPECT_FALSE(status.ok());
  EXPECT_THAT(status.message(), testing::HasSubstr("cannot write /some/file: "));
}

INSTANTIATE_TEST_SUITE_P(Served, FileOfAStore, testing::Values("s3://test/", "gs://test/", "oci://test@assay/"),
                         [](const auto& info) { return std::string(info.param).substr(0, 2); });

}  // namespace
}  // namespace assay::storage
