#include "checkpoint/safetensors/safetensors_header.h"

#include "checkpoint/safetensors/safetensors_reader.h"
#include "checkpoint/safetensors/safetensors_writer.h"
#include "checkpoint/testing.h"

namespace assay::checkpoint {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string FileOf(const std::string& header, const std::string& data) {
  std::string file;
  PutLittleEndian(file, header.size(), 8);
  return file + header + data;
}

std::string Refused(const std::string& header, const std::string& data) {
  const std::string file = FileOf(header, data);
  return ErrorOf(ParseSafetensorsHeader(file, static_cast<int64_t>(file.size()), "m.safetensors"));
}

constexpr char kTwo[] = R"({"b":{"dtype":"F32","shape":[2],"data_offsets":[2,10]},)"
                        R"("a":{"dtype":"BF16","shape":[],"data_offsets":[0,2]},"__metadata__":{"k":"v"}})";

TEST(SafetensorsHeader, ReadsTensorsInTheOrderOfTheirBytes) {
  const std::string file = FileOf(kTwo, "0123456789");
  const SafetensorsHeader header = Must(ParseSafetensorsHeader(file, static_cast<int64_t>(file.size()), "m"));
  ASSERT_EQ(header.entries.size(), 2u);
  EXPECT_EQ(header.entries[0].name, "a");
  EXPECT_EQ(header.entries[1].shape, Sizes{2});
  EXPECT_EQ(header.entries[1].end, static_cast<int64_t>(file.size()));
  EXPECT_EQ(header.metadata.at("k"), "v");
}

TEST(SafetensorsHeader, NamesWhatIsWrong) {
  EXPECT_THAT(Refused(kTwo, "012345678"), HasSubstr("tensor 'b' ends at byte 10"));
  EXPECT_THAT(Refused(kTwo, "01234567890"), HasSubstr("last 1 bytes"));
  EXPECT_THAT(Refused(R"({"a":{"dtype":"F32","shape":[3],"data_offsets":[0,8]}})", "01234567"),
              HasSubstr("takes 8 bytes, but F32 [3] needs 12"));
  EXPECT_THAT(Refused(R"({"a":{"dtype":"X","shape":[],"data_offsets":[0,8]}})", "01234567"), HasSubstr("'X'"));
  EXPECT_THAT(Refused(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}})", "01"), HasSubstr("unused"));
  EXPECT_THAT(Refused("[]", ""), HasSubstr("not a JSON object"));
  EXPECT_THAT(Refused(std::string(20'000'000, '['), ""), HasSubstr("too deep"));  // a tree of it would take gigabytes
  EXPECT_THAT(ErrorOf(ParseSafetensorsHeader("\xff\xff\xff\xff\xff\xff\xff\xff{}", 10, "m")), HasSubstr("claims"));
}

TEST(SafetensorsHeader, WritesNoTensorOverItsTexts) {
  std::vector<SafetensorsEntry> entries = {{.name = "__metadata__", .dtype = DType::kUInt8, .shape = {1}}};
  EXPECT_THAT(ErrorOf(MakeSafetensorsHead(entries, {{"format", "pt"}})), HasSubstr("'__metadata__'"));
}

TEST(SafetensorsHeader, HalvesOfBytesAreCountedAsTorchDoes) {
  const std::string file = FileOf(R"({"a":{"dtype":"F4","shape":[2,6],"data_offsets":[0,6]}})", "012345");
  const SafetensorsHeader header = Must(ParseSafetensorsHeader(file, static_cast<int64_t>(file.size()), "m"));
  EXPECT_EQ(header.entries[0].shape, (Sizes{2, 3}));
  EXPECT_THAT(Refused(R"({"a":{"dtype":"F4","shape":[3],"data_offsets":[0,1]}})", "0"), HasSubstr("odd number"));
}

TEST(MakeSafetensorsHead, WritesNoneThatIsNotRead) {
  std::vector<SafetensorsEntry> entries;
  EXPECT_TRUE(MakeSafetensorsHead(entries, {{"state", std::string(90'000'000, 'x')}}).ok());
  EXPECT_THAT(ErrorOf(MakeSafetensorsHead(entries, {{"state", std::string(100'000'000, 'x')}})),
              HasSubstr("plain values, which lie in it, take 100000000"));
}

TEST(LayOutSafetensors, LargestElementsFirstThenByName) {
  std::vector<std::pair<Value, Value>> items;
  for (const auto& [name, dtype] : {std::pair("c", DType::kUInt8), std::pair("b", DType::kFloat64),
                                    std::pair("a", DType::kUInt8), std::pair("d", DType::kFloat16)}) {
    items.emplace_back(Value::Text(name), Value(TensorOf(dtype, {1}, Counting(ElementBytes(dtype)))));
  }
  const SafetensorsLayout layout = Must(LayOutSafetensors(Must(State::Of(Value::MakeDict(items))), {}));
  ASSERT_EQ(layout.files.size(), 1u);
  std::vector<std::string> names;
  for (const FileItem& item : layout.files[0].layout.items()) {
    names.push_back(item.name);
  }
  EXPECT_THAT(names, ElementsAre("b", "d", "a", "c"));
  EXPECT_EQ(layout.files[0].layout.items()[0].offset % 64, 0);
}

TEST(LayOutSafetensors, CutsShardsBySizeAndByNumber) {
  const State state = Must(State::Of(StateOf(1)));  // three tensors of 120 bytes
  SafetensorsOptions options = {.shard_bytes = 250};
  EXPECT_EQ(Must(LayOutSafetensors(state, options)).files.size(), 2u);
  options = {.shards = 3};
  const SafetensorsLayout layout = Must(LayOutSafetensors(state, options));
  ASSERT_EQ(layout.files.size(), 3u);
  EXPECT_EQ(layout.files[1].name, "model-00002-of-00003.safetensors");
  EXPECT_EQ(layout.index_name, "model.safetensors.index.json");
  options = {.shard_bytes = 1};
  EXPECT_EQ(Must(LayOutSafetensors(state, options)).files.size(), 3u) << "a tensor is not cut";
}

}  // namespace
}  // namespace assay::checkpoint
