#include "checkpoint/torch/legacy_reader.h"

#include "checkpoint/file/file_layout.h"
#include "checkpoint/pickle/pickle_writer.h"
#include "checkpoint/testing.h"

namespace assay::checkpoint {
namespace {

using std::string_literals::operator""s;
using testing::HasSubstr;

void PutTensor(PickleWriter& writer, const std::string& storage) {
  writer.Global("torch._utils", "_rebuild_tensor_v2");
  writer.Mark();
  writer.Mark();
  writer.Text("storage");
  writer.Global("torch", "ByteStorage");
  writer.Text(storage);
  writer.Text("cpu");
  writer.Int(2);
  writer.None();
  writer.EndTuple(6);
  writer.PersistentId();
  writer.Int(0);
  writer.Tuple({2});
  writer.Tuple({1});
  writer.Bool(false);
  writer.Global("collections", "OrderedDict");
  writer.EmptyTuple();
  writer.Reduce();
  writer.EndTuple(6);
  writer.Reduce();
}

/// {'a': 'AA', 'b': 'BB'} as torch.save wrote it before its zip files, with `keys` as the list of storages.
std::string FileWithKeys(const std::vector<std::string>& keys) {
  PickleWriter version;
  version.Int(1001);
  PickleWriter system;
  system.EmptyDict();
  PickleWriter object;
  object.EmptyDict();
  object.Mark();
  for (const char* name : {"a", "b"}) {
    object.Text(name);
    PutTensor(object, name);
  }
  object.SetItems();
  PickleWriter list;
  list.EmptyList();
  list.Mark();
  for (const std::string& key : keys) {
    list.Text(key);
  }
  list.Appends();
  const std::string count = "\x02\0\0\0\0\0\0\0"s;
  return "\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19." + version.Finish() + system.Finish() +
         object.Finish() + list.Finish() + count + "AA" + count + "BB";
}

TEST(LegacyTorchFile, HasEveryStorageOnce) {
  const Value state = Must(ReadLegacyTorchFile(SourceOfText(FileWithKeys({"a", "b"}))));
  EXPECT_EQ(BytesOfTensor(state.Find("a")->tensor()), "AA");
  EXPECT_EQ(BytesOfTensor(state.Find("b")->tensor()), "BB");
  EXPECT_THAT(ErrorOf(ReadLegacyTorchFile(SourceOfText(FileWithKeys({"a", "a"})))), HasSubstr("'a' is listed twice"));
  EXPECT_THAT(ErrorOf(ReadLegacyTorchFile(SourceOfText(FileWithKeys({"a"})))), HasSubstr("lacks storages"));
}

TEST(LegacyTorchFile, IsReadNoFurtherThanToWhatRefusesIt) {
  const std::string whole = FileWithKeys({"a", "b"});
  const std::string hostile = "cposix\nsystem\n.";
  const std::string begin = whole.substr(0, 15);
  const auto refused = std::make_shared<CountingSource>(begin + hostile + std::string(4 << 20, '\0'));
  EXPECT_THAT(ErrorOf(ReadLegacyTorchFile(refused)), HasSubstr("posix.system"));
  EXPECT_EQ(refused->read(), 1 << 20);
  // A pickle of more bytes than are read at first is read on.
  const std::string text = "X\0\0\x20\0"s + std::string(2 << 20, 'a') + "0";
  const auto longer = std::make_shared<CountingSource>(begin + text + whole.substr(begin.size()));
  EXPECT_TRUE(ReadLegacyTorchFile(longer).ok());
}

}  // namespace
}  // namespace assay::checkpoint
