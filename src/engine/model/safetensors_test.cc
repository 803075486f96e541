#include "engine/model/safetensors.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/files.h"
#include "engine/model/status_error.h"

namespace assay::engine {
namespace {

using ::testing::HasSubstr;

class SafetensorsTest : public ::testing::Test {
 protected:
  std::string path() const { return folder_.path() + "/t.safetensors"; }

  /// Writes a file of the given header and so many bytes of data.
  void write(const std::string& header, size_t data_bytes) { write_with_length(header.size(), header, data_bytes); }

  void write_with_length(uint64_t length, const std::string& header, size_t data_bytes) {
    std::string content(8, '\0');
    for (size_t i = 0; i < 8; ++i) {
      content[i] = static_cast<char>(length >> (8 * i));
    }
    throw_if_error(WriteFileAtomically(path(), content + header + std::string(data_bytes, 'x')));
  }

  std::string open_error() const {
    try {
      SafetensorsFile::open(path());
    } catch (const StatusError& error) {
      EXPECT_THAT(error.what(), HasSubstr(path()));
      EXPECT_THAT(error.what(), testing::Not(HasSubstr("\n")));
      return error.what();
    }
    return "no error";
  }

  std::string error_of(const std::string& header, size_t data_bytes) {
    write(header, data_bytes);
    return open_error();
  }

  TemporaryDirectory folder_ = value_or_throw(TemporaryDirectory::Create("safetensors"));
};

TEST_F(SafetensorsTest, ReadsBackWhatItWrites) {
  const at::Tensor a = at::randn({3, 5});
  const at::Tensor b = at::randn({4, 2}).to(at::kBFloat16);
  const at::Tensor transposed = at::randn({2, 7}).t();
  const at::Tensor empty = at::empty({0, 4});
  const at::Tensor scalar = at::tensor(2.5).to(at::kHalf);
  write_safetensors(path(), {{"a", a}, {"b", b}, {"t", transposed}, {"e", empty}, {"s", scalar}});
  const SafetensorsFile file = SafetensorsFile::open(path());
  EXPECT_EQ(file.metadata().at("format"), "pt");
  EXPECT_EQ(file.entries().size(), 5u);
  EXPECT_TRUE(file.tensor(*file.find("a")).equal(a));
  EXPECT_TRUE(file.tensor(*file.find("b")).equal(b));
  EXPECT_TRUE(file.tensor(*file.find("t")).equal(transposed));
  EXPECT_EQ(file.tensor(*file.find("e")).sizes(), empty.sizes());
  EXPECT_TRUE(file.tensor(*file.find("s")).equal(scalar));
  EXPECT_EQ(file.find("c"), nullptr);
}

TEST_F(SafetensorsTest, WritingIntoATensorLeavesTheFileAsItIs) {
  write_safetensors(path(), {{"a", at::ones({1000})}});
  const std::string before = value_or_throw(ReadFile(path()));
  at::Tensor a = SafetensorsFile::open(path()).tensor(*SafetensorsFile::open(path()).find("a"));
  a.fill_(7.0);
  EXPECT_EQ(a.sum().item<float>(), 7000.0f);
  EXPECT_EQ(value_or_throw(ReadFile(path())), before);
}

TEST_F(SafetensorsTest, TensorsKeepTheMappingAlive) {
  const int64_t before = mapped_bytes();
  at::Tensor a;
  {
    write_safetensors(path(), {{"a", at::arange(100)}});
    const SafetensorsFile file = SafetensorsFile::open(path());
    a = file.tensor(*file.find("a"));
  }
  EXPECT_EQ(a.sum().item<int64_t>(), 4950);
  EXPECT_GT(mapped_bytes(), before);
  a.reset();
  EXPECT_EQ(mapped_bytes(), before);
}

TEST_F(SafetensorsTest, CopiesTensorsThatAreNotAligned) {
  write(R"({"b":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"f":{"dtype":"F32","shape":[2],"data_offsets":[1,9]}})",
        9);
  const SafetensorsFile file = SafetensorsFile::open(path());
  EXPECT_EQ(file.tensor(*file.find("f")).numel(), 2);
}

TEST_F(SafetensorsTest, RefusesAHeaderThatLiesAboutItsLength) {
  write_with_length(1'000'000, "{}", 10);
  EXPECT_THAT(open_error(), HasSubstr("its header claims 1000000 bytes, the file has 20"));
  write_with_length(UINT64_MAX, "{}", 10);
  EXPECT_THAT(open_error(), HasSubstr("its header claims 18446744073709551615 bytes"));
  throw_if_error(WriteFileAtomically(path(), "abc"));
  EXPECT_THAT(open_error(), HasSubstr("it has 3 bytes, too few"));
  throw_if_error(WriteFileAtomically(path(), ""));
  EXPECT_THAT(open_error(), HasSubstr("it has 0 bytes, too few"));
}

TEST_F(SafetensorsTest, RefusesAHeaderThatIsNotAnObject) {
  EXPECT_THAT(error_of("hello", 0), HasSubstr("its header is not a JSON object"));
  EXPECT_THAT(error_of("[1]", 0), HasSubstr("its header is not a JSON object"));
  EXPECT_THAT(error_of(R"({"a":1})", 0), HasSubstr("tensor 'a' is not described by a JSON object"));
  EXPECT_THAT(error_of(R"({"__metadata__":3})", 0), HasSubstr("__metadata__ is not a JSON object"));
}

TEST_F(SafetensorsTest, RefusesATruncatedFile) {
  EXPECT_THAT(error_of(R"({"a":{"dtype":"F32","shape":[4],"data_offsets":[0,16]}})", 12),
              HasSubstr("tensor 'a' ends at byte 16 of the data, but the file has only 12: it is truncated"));
}

TEST_F(SafetensorsTest, RefusesLengthsThatDoNotFitTheShape) {
  EXPECT_THAT(error_of(R"({"a":{"dtype":"BF16","shape":[2,3],"data_offsets":[0,16]}})", 16),
              HasSubstr("tensor 'a' takes 16 bytes, but BF16 [2, 3] needs 12"));
  EXPECT_THAT(error_of(R"({"a":{"dtype":"F32","shape":[4611686018427387904,4],"data_offsets":[0,0]}})", 0),
              HasSubstr("tensor 'a' has an impossible shape"));
  EXPECT_THAT(error_of(R"({"a":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}})", 4),
              HasSubstr("tensor 'a' has no shape of non-negative integers"));
  EXPECT_THAT(error_of(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[4,0]}})", 4),
              HasSubstr("are not a [begin, end] pair"));
  EXPECT_THAT(error_of(R"({"a":{"dtype":"F32","shape":[1]}})", 4), HasSubstr("tensor 'a' has no data_offsets"));
}

TEST_F(SafetensorsTest, RefusesUnknownDtypes) {
  EXPECT_THAT(error_of(R"({"a":{"dtype":"F6_E2M3","shape":[4],"data_offsets":[0,3]}})", 3),
              HasSubstr("tensor 'a' has the unknown dtype 'F6_E2M3'"));
  EXPECT_THAT(error_of(R"({"a":{"shape":[2],"data_offsets":[0,1]}})", 1), HasSubstr("tensor 'a' has no dtype"));
}

TEST_F(SafetensorsTest, RefusesOverlapsAndHoles) {
  EXPECT_THAT(error_of(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)"
                       R"("b":{"dtype":"F32","shape":[2],"data_offsets":[4,12]}})",
                       12),
              HasSubstr("tensor 'b' overlaps the tensor before it"));
  EXPECT_THAT(error_of(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})", 8),
              HasSubstr("tensor 'a' leaves 4 bytes before it unused"));
  EXPECT_THAT(error_of(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})", 9),
              HasSubstr("its last 5 bytes belong to no tensor"));
}

TEST_F(SafetensorsTest, RefusesANameThatIsListedTwice) {
  EXPECT_THAT(error_of(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},)"
                       R"("a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})",
                       4),
              HasSubstr("tensor 'a' is listed twice"));
}

TEST_F(SafetensorsTest, NamesAMissingFile) {
  EXPECT_THAT(open_error(), HasSubstr("No such file"));
}

TEST_F(SafetensorsTest, LeavesNothingBehindWhereItCannotWrite) {
  EXPECT_THROW(write_safetensors(folder_.path() + "/no/such/folder/x", {{"a", at::ones({2})}}), StatusError);
}

}  // namespace
}  // namespace assay::engine
