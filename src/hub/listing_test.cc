#include "hub/listing.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>

namespace assay::hub {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr char kCommit[] = "0123456789012345678901234567890123456789";
constexpr char kGitHash[] = "89abcdef0189abcdef0189abcdef0189abcdef01";
constexpr char kSha256[] = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";

std::string Answer(const std::string& path, const std::string& git_hash = kGitHash) {
  return fmt::format(R"({{"sha": "{}", "siblings": [{{"rfilename": "{}", "size": 7, "blobId": "{}"}}]}})", kCommit,
                     path, git_hash);
}

std::vector<std::string> Chosen(const std::vector<std::string>& paths, const std::vector<std::string>& patterns = {}) {
  HubListing listing;
  for (const std::string& path : paths) {
    listing.files.push_back({.path = path});
  }
  std::vector<std::string> chosen;
  for (const HubFile& file : ChooseFiles(listing, patterns)) {
    chosen.push_back(file.path);
  }
  return chosen;
}

TEST(ListingTest, HasTheHashOfTheContentOfLargeFilesAndGitsOfOthers) {
  const auto listing = ParseListing(fmt::format(R"({{"sha": "{}", "siblings": [
        {{"rfilename": "config.json", "size": 7, "blobId": "{}"}},
        {{"rfilename": "model.safetensors", "size": 9, "blobId": "{}", "lfs": {{"sha256": "{}", "size": 9}}}}]}})",
                                                kCommit, kGitHash, kGitHash, kSha256),
                                    "hub");
  ASSERT_TRUE(listing.ok()) << listing.status().message();
  EXPECT_EQ(listing->commit, kCommit);
  ASSERT_EQ(listing->files.size(), 2);
  EXPECT_EQ(listing->files[0].blob, kGitHash);
  EXPECT_EQ(listing->files[0].checksum, storage::ChecksumKind::kSha1);
  EXPECT_EQ(listing->files[1].blob, kSha256);
  EXPECT_EQ(listing->files[1].checksum, storage::ChecksumKind::kSha256);
}

TEST(ListingTest, NoFileLeavesItsFolder) {
  EXPECT_TRUE(ParseListing(Answer("a/config.json"), "hub").ok());
  for (const char* path : {"../config.json", "/etc/passwd", "a//b", "a/./b", ""}) {
    EXPECT_THAT(ParseListing(Answer(path), "hub").status().message(), HasSubstr("the hub lists a file")) << path;
  }
  EXPECT_THAT(ParseListing(Answer("config.json", "../../x"), "hub").status().message(), HasSubstr("which is none"));
}

TEST(ListingTest, AnythingElseIsNoAnswerOfAHub) {
  for (const char* text : {"", "<html>", "[]", "{}", R"({"sha": "x", "siblings": 1})"}) {
    EXPECT_THAT(ParseListing(text, "hub").status().message(), HasSubstr("does not answer as a hub")) << text;
  }
  EXPECT_THAT(ParseListing(R"({"sha": "..", "siblings": []})", "hub").status().message(), HasSubstr("as the commit"));
}

TEST(ListingTest, AModelIsItsConfigurationItsTokeniserAndItsSafetensors) {
  EXPECT_THAT(Chosen({"README.md", "config.json", "tokenizer.json", "merges.txt", "tokenizer.model",
                      "chat_template.jinja", "model-00001-of-00002.safetensors", "model.safetensors.index.json",
                      "consolidated.safetensors", "pytorch_model.bin", "pytorch_model.bin.index.json", "flax.msgpack",
                      "onnx/model.onnx", "original/params.json"}),
              ElementsAre("config.json", "tokenizer.json", "merges.txt", "tokenizer.model", "chat_template.jinja",
                          "model-00001-of-00002.safetensors", "model.safetensors.index.json"));
  EXPECT_THAT(Chosen({"adapter_config.json", "adapter_model.safetensors", "adapter_model.bin"}),
              ElementsAre("adapter_config.json", "adapter_model.safetensors"));
}

TEST(ListingTest, PickledWeightsAreTakenWhereThereAreNoOthers) {
  EXPECT_THAT(Chosen({"config.json", "pytorch_model-1.bin", "pytorch_model.bin.index.json", "tf_model.h5"}),
              ElementsAre("config.json", "pytorch_model-1.bin", "pytorch_model.bin.index.json"));
}

TEST(ListingTest, PatternsChooseWhatTheyMatch) {
  EXPECT_THAT(Chosen({"config.json", "onnx/model.onnx", "onnx/a/b.onnx"}, {"*.onnx"}),
              ElementsAre("onnx/model.onnx", "onnx/a/b.onnx"));
}

}  // namespace
}  // namespace assay::hub
