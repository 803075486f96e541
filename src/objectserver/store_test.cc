#include "objectserver/store.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "base/files.h"

namespace assay::objectserver {
namespace {

Blob WriteBlob(Store& store, const std::string& text) {
  auto writer = store.NewWriter(static_cast<int64_t>(text.size())).value();
  std::string_view rest = text;
  while (!rest.empty()) {
    const std::span<std::byte> memory = writer->Memory(rest.size());
    std::memcpy(memory.data(), rest.data(), memory.size());
    EXPECT_TRUE(writer->Received(memory.size()).ok());
    rest.remove_prefix(memory.size());
  }
  return writer->Finish().value();
}

std::string TextOf(const Blob& blob) {
  std::string text;
  EXPECT_TRUE(blob.ForEachPiece([&](std::span<const std::byte> bytes) {
                    text.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
                  })
                  .ok());
  return text;
}

ObjectRecord MakeObject(Store& store, const std::string& key, const std::string& text) {
  ObjectRecord object;
  object.key = key;
  object.blob = WriteBlob(store, text);
  object.etag = "etag";
  object.attributes.metadata["note"] = text.substr(0, 8);
  return object;
}

class StoreOnDisk : public ::testing::Test {
 protected:
  TemporaryDirectory directory_ = TemporaryDirectory::Create("assay-store-test").value();
  std::string root_ = directory_.path() + "/root";
  std::unique_ptr<Store> Open() {
    auto store = Store::Open(root_);
    EXPECT_TRUE(store.ok()) << store.status().message();
    return std::move(store).value();
  }
  /// A bucket "b" with one object, whose content is its key.
  void PutOne(const std::string& key) {
    auto store = Open();
    store->CreateBucket("b", "r");
    ASSERT_TRUE(store->Put("b", MakeObject(*store, key, key), {}).ok());
  }
  size_t DataFiles() const {
    return static_cast<size_t>(std::distance(std::filesystem::directory_iterator(root_ + "/data"), {}));
  }
};

TEST_F(StoreOnDisk, FindsEverythingAgain) {
  {
    auto store = Open();
    store->CreateBucket("b", "r");
    ObjectRecord object = MakeObject(*store, std::string("odd\xc3\xa9/key\n"), std::string(3000000, 'x'));
    object.digests[storage::ChecksumKind::kCrc32c] = std::string("\1\2\3\4", 4);
    ASSERT_TRUE(store->Put("b", std::move(object), {}).ok());
    Upload upload;
    upload.key = "unfinished";
    upload.checksum_kind = storage::ChecksumKind::kSha256;
    const std::string id = store->CreateUpload("b", upload).message;
    Part part{7, 4, "e", {}, 0, WriteBlob(*store, "part")};
    ASSERT_TRUE(store->PutPart("b", id, part).ok());
  }
  auto store = Open();
  const StoreOutcome found = store->Find("b", std::string("odd\xc3\xa9/key\n"));
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(TextOf(found.object->blob), std::string(3000000, 'x'));
  EXPECT_EQ(found.object->digests.at(storage::ChecksumKind::kCrc32c), std::string("\1\2\3\4", 4));
  EXPECT_EQ(found.object->attributes.metadata.at("note"), "xxxxxxxx");
  const std::vector<Upload> uploads = store->Uploads("b");
  ASSERT_EQ(uploads.size(), 1u);
  EXPECT_EQ(uploads[0].checksum_kind, storage::ChecksumKind::kSha256);
  EXPECT_EQ(TextOf(uploads[0].parts.at(7).blob), "part");
}

TEST_F(StoreOnDisk, RemovesContentThatNothingNames) {
  {
    auto store = Open();
    store->CreateBucket("b", "r");
    ASSERT_TRUE(store->Put("b", MakeObject(*store, "k", "one"), {}).ok());
    ASSERT_TRUE(store->Put("b", MakeObject(*store, "k", "two"), {}).ok());
    EXPECT_EQ(DataFiles(), 1u);
    ASSERT_TRUE(store->Remove("b", "k", {}).ok());
    EXPECT_EQ(DataFiles(), 0u);
    ASSERT_TRUE(store->Put("b", MakeObject(*store, "k", "three"), {}).ok());
  }
  ASSERT_TRUE(WriteFileAtomically(root_ + "/data/0123", "junk").ok());
  EXPECT_EQ(TextOf(Open()->Find("b", "k").object->blob), "three");
  EXPECT_EQ(DataFiles(), 1u);
}

TEST_F(StoreOnDisk, SetsDamagedRecordsAsideAndServesTheRest) {
  std::string unfinished;
  {
    auto store = Open();
    store->CreateBucket("b", "r");
    for (const char* key : {"kept", "torn"}) {
      ASSERT_TRUE(store->Put("b", MakeObject(*store, key, key), {}).ok());
    }
    Upload upload;
    upload.key = "u";
    unfinished = store->CreateUpload("b", upload).message;
    ASSERT_TRUE(store->PutPart("b", unfinished, Part{1, 4, "e", {}, 0, WriteBlob(*store, "part")}).ok());
  }
  const std::string bucket = root_ + "/buckets/b";
  const std::string torn = bucket + "/objects/" + Sha256Hex("torn");
  ASSERT_TRUE(WriteFileAtomically(torn, "{\"key\":").ok());
  ASSERT_TRUE(WriteFileAtomically(bucket + "/uploads/" + unfinished + "/1", "{}").ok());
  ASSERT_TRUE(WriteFileAtomically(bucket + "/bucket.json", "").ok());
  {
    auto store = Open();
    ASSERT_EQ(store->warnings().size(), 4u);
    EXPECT_NE(store->warnings()[1].find(torn), std::string::npos) << store->warnings()[1];
    EXPECT_EQ(TextOf(store->Find("b", "kept").object->blob), "kept");
    EXPECT_EQ(store->Find("b", "torn").code, StoreCode::kNoSuchKey);
    EXPECT_TRUE(store->Uploads("b").empty());
    EXPECT_EQ(DataFiles(), 3u) << "what a damaged record may have named is kept";
    ASSERT_TRUE(store->Put("b", MakeObject(*store, "torn", "new"), {}).ok());
  }
  EXPECT_TRUE(std::filesystem::exists(root_ + "/damaged/buckets/b/objects"));
  auto store = Open();
  ASSERT_EQ(store->warnings().size(), 1u) << "records are told of once, what stays because of them at every start";
  EXPECT_NE(store->warnings()[0].find("2 files"), std::string::npos) << store->warnings()[0];
  EXPECT_EQ(TextOf(store->Find("b", "torn").object->blob), "new");
  EXPECT_EQ(DataFiles(), 4u);
  store.reset();
  std::filesystem::remove_all(root_ + "/damaged");
  EXPECT_TRUE(Open()->warnings().empty());
  EXPECT_EQ(DataFiles(), 2u);
}

TEST_F(StoreOnDisk, ContentOfARecordThatWasSetAsideStaysWhenItsCopyIsRemoved) {
  {
    auto store = Open();
    store->CreateBucket("b", "r");
    const ObjectRecord object = MakeObject(*store, "torn", "shared");
    ASSERT_TRUE(store->Put("b", object, {}).ok());
    ObjectRecord copy = object;
    copy.key = "copy";
    ASSERT_TRUE(store->Put("b", copy, {}).ok());
  }
  ASSERT_TRUE(WriteFileAtomically(root_ + "/buckets/b/objects/" + Sha256Hex("torn"), "{\"key\":").ok());
  auto store = Open();
  ASSERT_TRUE(store->Put("b", MakeObject(*store, "new", "new"), {}).ok());
  EXPECT_EQ(DataFiles(), 2u);
  ASSERT_TRUE(store->Remove("b", "new", {}).ok());
  ASSERT_TRUE(store->Remove("b", "copy", {}).ok());
  EXPECT_EQ(DataFiles(), 1u) << "what a record may name that was set aside stays, what was written since does not";
  store.reset();
  std::filesystem::remove_all(root_ + "/damaged");
  EXPECT_TRUE(Open()->warnings().empty());
  EXPECT_EQ(DataFiles(), 0u);
}

TEST_F(StoreOnDisk, ABucketWhoseRecordIsMissingKeepsItsObjects) {
  PutOne("kept");
  std::filesystem::remove(root_ + "/buckets/b/bucket.json");
  ASSERT_TRUE(MakeDirectories(root_ + "/buckets/removed/uploads/1").ok());
  auto store = Open();
  ASSERT_EQ(store->warnings().size(), 1u);
  EXPECT_EQ(TextOf(store->Find("b", "kept").object->blob), "kept");
  EXPECT_FALSE(std::filesystem::exists(root_ + "/buckets/removed")) << "one without objects was being removed";
}

TEST_F(StoreOnDisk, ADamagedBucketRecordStaysUntilAnotherTakesItsPlace) {
  PutOne("kept");
  const std::string record = root_ + "/buckets/b/bucket.json";
  ASSERT_TRUE(WriteFileAtomically(record, "torn").ok());
  // A file where the copy's folder belongs: nothing can be set aside, as on a full disk.
  ASSERT_TRUE(WriteFileAtomically(root_ + "/damaged", "").ok());
  EXPECT_FALSE(Store::Open(root_).ok());
  EXPECT_EQ(ReadFile(record).value(), "torn");
  std::filesystem::remove(root_ + "/damaged");
  EXPECT_EQ(TextOf(Open()->Find("b", "kept").object->blob), "kept");
}

TEST_F(StoreOnDisk, SetsARecordAsideThatDoesNotHoldTogether) {
  const auto set = [](std::string_view name, const nlohmann::json& value) {
    return [name, value](nlohmann::json& record) { record[name] = value; };
  };
  const std::pair<std::string_view, std::function<void(nlohmann::json&)>> damages[] = {
      {"parts' checksums", set("composite", nlohmann::json::object())},
      {"kind's length", set("digests", {{"crc32c", "00"}})},
      {"another object's", set("key", "b3RoZXI=")},
      {"its parts", set("parts", {{{"number", 1}, {"size", 5}, {"etag", ""}, {"digests", {}}, {"modified", 0.0}}})},
      {"no range", [](nlohmann::json& record) { record["segments"][0][2] = -4; }},
      {"no range", [](nlohmann::json& record) { record["segments"][0][1] = -1; }},
      {"too short", [](nlohmann::json& record) { record["segments"][0][2] = 5; }},
  };
  PutOne("kept");
  const std::string path = root_ + "/buckets/b/objects/" + Sha256Hex("kept");
  const std::string sound = ReadFile(path).value();
  for (const auto& [message, damage] : damages) {
    nlohmann::json record = nlohmann::json::parse(sound);
    damage(record);
    ASSERT_TRUE(WriteFileAtomically(path, record.dump()).ok());
    auto store = Open();
    ASSERT_EQ(store->warnings().size(), 2u) << record;
    EXPECT_EQ(DataFiles(), 1u) << "its content stays";
    EXPECT_NE(store->warnings()[0].find(message), std::string::npos) << store->warnings()[0];
    EXPECT_EQ(store->Find("b", "kept").code, StoreCode::kNoSuchKey);
  }
}

TEST_F(StoreOnDisk, SetsARecordAsideWhoseContentIsCutShort) {
  PutOne("kept");
  for (const auto& file : std::filesystem::directory_iterator(root_ + "/data")) {
    std::filesystem::resize_file(file.path(), 3);
  }
  auto store = Open();
  EXPECT_EQ(store->warnings().size(), 2u);
  EXPECT_EQ(store->Find("b", "kept").code, StoreCode::kNoSuchKey);
  EXPECT_EQ(DataFiles(), 1u);
}

TEST_F(StoreOnDisk, SetsARecordAsideWhoseContentIsMissing) {
  {
    auto store = Open();
    store->CreateBucket("b", "r");
    ASSERT_TRUE(store->Put("b", MakeObject(*store, "k", "one"), {}).ok());
  }
  std::filesystem::remove_all(root_ + "/data");
  auto store = Open();
  ASSERT_EQ(store->warnings().size(), 1u);
  EXPECT_NE(store->warnings()[0].find("is missing"), std::string::npos);
  EXPECT_EQ(store->Find("b", "k").code, StoreCode::kNoSuchKey);
}

TEST_F(StoreOnDisk, ForgetsAnUploadWhoseObjectIsThere) {
  {
    auto store = Open();
    store->CreateBucket("b", "r");
    Upload upload;
    upload.key = "k";
    const std::string id = store->CreateUpload("b", upload).message;
    ObjectRecord object = MakeObject(*store, "k", "whole");
    object.upload_id = id;  // as after a crash between the two steps of its completion
    ASSERT_TRUE(store->Put("b", std::move(object), {}).ok());
  }
  EXPECT_TRUE(Open()->Uploads("b").empty());
}

TEST_F(StoreOnDisk, RefusesFoldersThatAreNotStores) {
  ASSERT_TRUE(MakeDirectories(root_).ok());
  ASSERT_TRUE(WriteFileAtomically(root_ + "/thesis.tex", "x").ok());
  EXPECT_FALSE(Store::Open(root_).ok());
  const auto first = Store::Open(directory_.path() + "/other");
  ASSERT_TRUE(first.ok());
  EXPECT_FALSE(Store::Open(directory_.path() + "/other").ok()) << "a second server";
}

/// Overwrites one object for ever with contents of one letter, whose size and metadata say which.
[[noreturn]] void OverwriteForEver(const std::string& root, int report) {
  auto store = Store::Open(root);
  store.value()->CreateBucket("b", "r");
  for (int round = 0;; ++round) {
    const std::string text(100000 + round % 26, static_cast<char>('a' + round % 26));
    if (!(*store)->Put("b", MakeObject(**store, "k", text), {}).ok() || ::write(report, "x", 1) != 1) {
      ::_exit(1);
    }
  }
}

TEST_F(StoreOnDisk, HoldsTheOldObjectOrTheNewOneAfterAKill) {
  for (int round = 0; round < 25; ++round) {
    int pipe[2];
    ASSERT_EQ(::pipe(pipe), 0);
    const pid_t child = ::fork();
    if (child == 0) {
      OverwriteForEver(root_, pipe[1]);
    }
    char byte = 0;
    ASSERT_EQ(::read(pipe[0], &byte, 1), 1) << "the first write was done";
    ::usleep(static_cast<useconds_t>(round * 337 % 5000));
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    ::close(pipe[0]);
    ::close(pipe[1]);
    auto store = Open();
    const StoreOutcome found = store->Find("b", "k");
    ASSERT_TRUE(found.ok());
    const std::string text = TextOf(found.object->blob);
    const int letter = text.front() - 'a';
    ASSERT_EQ(text, std::string(100000 + letter, text.front()));
    ASSERT_EQ(found.object->attributes.metadata.at("note"), std::string(8, text.front()));
    ASSERT_EQ(DataFiles(), 1u);
  }
}

TEST(StoreInMemory, KeepsAnObjectThatIsBeingRead) {
  auto store = Store::Open("memory").value();
  store->CreateBucket("b", "r");
  store->Put("b", MakeObject(*store, "k", "old"), {});
  const ObjectPointer old = store->Find("b", "k").object;
  store->Put("b", MakeObject(*store, "k", "new"), {});
  EXPECT_EQ(TextOf(old->blob), "old");
  EXPECT_LT(old->generation, store->Find("b", "k").object->generation);
}

TEST(StoreInMemory, RemovesABucketThatIsWrittenTo) {
  const auto store = Store::Open("memory").value();
  std::jthread writer([&](const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      Upload wanted;
      wanted.key = "key";
      const StoreOutcome upload = store->CreateUpload("bucket", std::move(wanted));
      for (int number = 1; upload.ok() && number < 20; ++number) {
        Part part;
        part.number = number;
        part.blob = WriteBlob(*store, "part");
        store->PutPart("bucket", upload.message, std::move(part));
      }
    }
  });
  int removed = 0;
  for (int i = 0; i < 2000; ++i) {
    store->CreateBucket("bucket", "here");
    std::this_thread::yield();
    removed += store->RemoveBucket("bucket").ok() ? 1 : 0;
  }
  EXPECT_EQ(removed, 2000);
}

TEST(Blob, SlicesAcrossSegments) {
  auto store = Store::Open("memory").value();
  Blob blob = WriteBlob(*store, "0123");
  blob.Append(WriteBlob(*store, "4567"));
  EXPECT_EQ(TextOf(blob.Slice(2, 4)), "2345");
  EXPECT_EQ(TextOf(blob.Slice(4, 4)), "4567");
  EXPECT_EQ(blob.Slice(8, 0).size(), 0);
}

}  // namespace
}  // namespace assay::objectserver
