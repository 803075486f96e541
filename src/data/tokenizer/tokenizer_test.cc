#include "data/tokenizer/tokenizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "base/files.h"

namespace assay::data {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

// A tokeniser of words between spaces, with room for other parts.
std::string WordLevelJson(const std::string& extra = "", const std::string& vocab = R"("<unk>": 0, "a": 1, "b": 2)") {
  return R"({"version": "1.0", "added_tokens": [
      {"id": 3, "content": "<s>", "special": true, "normalized": false},
      {"id": 4, "content": "<s>long", "special": false, "normalized": false},
      {"id": 5, "content": "[M]", "special": true, "normalized": false, "lstrip": true, "rstrip": true},
      {"id": 6, "content": "w", "special": false, "normalized": false, "single_word": true}],
    "pre_tokenizer": {"type": "WhitespaceSplit"},)" +
         extra + R"("model": {"type": "WordLevel", "unk_token": "<unk>", "vocab": {)" + vocab + "}}}";
}

Tokenizer WordLevel(const std::string& extra = "") {
  Result<Tokenizer> tokenizer = Tokenizer::FromJson(WordLevelJson(extra), "test.json");
  EXPECT_TRUE(tokenizer.ok()) << tokenizer.status().message();
  return *tokenizer;
}

std::string ErrorOf(const std::string& json) {
  const Result<Tokenizer> tokenizer = Tokenizer::FromJson(json, "test.json");
  EXPECT_FALSE(tokenizer.ok());
  EXPECT_THAT(tokenizer.status().message(), Not(HasSubstr("\n")));
  return tokenizer.status().message();
}

TEST(Tokenizer, AddedTokensAreTheLeftmostAndLongest) {
  const Tokenizer tokenizer = WordLevel();
  EXPECT_THAT(*tokenizer.Encode("a<s>b<s>longa", false), ElementsAre(1, 3, 2, 4, 1));
  EXPECT_THAT(*tokenizer.Encode("a  [M]  b", false), ElementsAre(1, 5, 2));
  EXPECT_THAT(*tokenizer.Encode("w aw w", false), ElementsAre(6, 0, 6));
  EXPECT_THAT(*tokenizer.Encode("", false), ElementsAre());
}

TEST(Tokenizer, PostProcessorAddsSpecialTokens) {
  const Tokenizer tokenizer = WordLevel(R"("post_processor": {"type": "TemplateProcessing",
      "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
      "special_tokens": {"<s>": {"id": "<s>", "ids": [3], "tokens": ["<s>"]}}},)");
  EXPECT_THAT(*tokenizer.Encode("a b", true), ElementsAre(3, 1, 2));
  EXPECT_THAT(*tokenizer.Encode("a b", false), ElementsAre(1, 2));
}

TEST(Tokenizer, DecodesWithAndWithoutSpecialTokens) {
  const Tokenizer tokenizer = WordLevel();
  const std::vector<int32_t> ids = {3, 1, 2, 999, -1};
  EXPECT_EQ(*tokenizer.Decode(ids, false), "<s> a b");
  EXPECT_EQ(*tokenizer.Decode(ids, true), "a b");
}

TEST(Tokenizer, KnowsItsTokens) {
  const Tokenizer tokenizer = WordLevel();
  EXPECT_EQ(tokenizer.vocab_size(), 7);
  EXPECT_EQ(tokenizer.Token(5), "[M]");
  EXPECT_EQ(tokenizer.Token(1), "a");
  EXPECT_EQ(tokenizer.Token(7), std::nullopt);
  EXPECT_EQ(tokenizer.special_tokens().unk, 0);
}

TEST(Tokenizer, HolesInTheVocabularyAreUnusedRows) {
  const auto tokenizer = Tokenizer::FromJson(
      R"({"model": {"type": "WordLevel", "unk_token": "<unk>", "vocab": {"<unk>": 0, "a": 7}}})", "test.json");
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.status().message();
  EXPECT_EQ(tokenizer->vocab_size(), 8);
  EXPECT_EQ(tokenizer->Token(3), std::nullopt);
  EXPECT_EQ(*tokenizer->Decode(std::vector<int32_t>{3, 7}, false), "a");
}

std::string Nested(int depth) {
  std::string json = R"({"type": "Fuse"})";
  for (int i = 0; i < depth; ++i) {
    json = R"({"type": "Sequence", "decoders": [)" + json + "]}";
  }
  return json;
}

struct BadFile {
  const char* what;
  std::string json;
  const char* message;
};

const BadFile kBadFiles[] = {
    {"truncated", R"({"model": {"type")", "test.json:1: not valid JSON"},
    {"something else", R"({"hello": 1})", "test.json: not a tokenizer.json: 'model' is missing"},
    {"unknown model", R"({"model": {"type": "Markov", "vocab": {}}})", "test.json: model Markov: is not supported"},
    {"unknown normaliser", WordLevelJson(R"("normalizer": {"type": "Rot13"},)"),
     "test.json: normalizer 'Rot13' is not supported"},
    {"unknown pre-tokeniser", R"({"pre_tokenizer": {"type": "Psychic"}, "model": {"type": "WordLevel", "vocab": {}}})",
     "test.json: pre_tokenizer Psychic: is not supported"},
    {"unknown decoder", WordLevelJson(R"("decoder": {"type": "Morse"},)"),
     "test.json: decoder 'Morse' is not supported"},
    {"pattern", WordLevelJson(R"("normalizer": {"type": "Replace", "pattern": {"Regex": "(a"}, "content": ""},)"),
     "normalizer Replace: regular expression '(a' does not compile"},
    {"unsupported pattern",
     WordLevelJson(R"("normalizer": {"type": "Replace", "pattern": {"Regex": "(a)\\1"}, "content": ""},)"),
     "regular expression '(a)\\1' uses back references, which is not supported"},
    {"Git LFS pointer", "version https://git-lfs.github.com/spec/v1\noid sha256:12\nsize 9\n",
     "test.json: a Git LFS pointer and not the file it stands for; fetch that with git lfs pull"},
    {"Keras", R"({"class_name": "Tokenizer", "config": {"num_words": 9}})", "test.json: a tokeniser of Keras"},
    {"scripts", R"({"pre_tokenizer": {"type": "UnicodeScripts"}, "model": {"type": "WordLevel", "vocab": {}}})",
     "pre_tokenizer UnicodeScripts: is not supported"},
    {"id of an added token", R"({"model": {"type": "WordLevel", "vocab": {"a": 0}}, "added_tokens":
       [{"content": "b", "id": 4294967297}]})",
     "added token 'b' has no id that is one"},
    {"id of a template", WordLevelJson(R"("post_processor": {"type": "BertProcessing", "cls": ["a", 1],
       "sep": ["z", 99]},)"),
     "post_processor adds the id 99, but the vocabulary ends at 6"},
    {"nesting", WordLevelJson("\"decoder\": " + Nested(90) + ","), "decoder: sequences nested that deeply"},
    {"nesting without end", WordLevelJson("\"decoder\": " + Nested(2000) + ","), "nested more than 200 deep"},
    {"characters", WordLevelJson(R"("decoder": {"type": "Metaspace", "replacement": ""},)"),
     "decoder Metaspace: 'replacement' must be one character, not ''"},
    {"merge", R"({"model": {"type": "BPE", "vocab": {"a": 0}, "merges": ["a b"]}})",
     "test.json: model BPE: merge 0 ('a' 'b') needs the token 'b', which is not in the vocabulary"},
    {"half a merge", R"({"model": {"type": "BPE", "vocab": {"a": 0}, "merges": ["a"]}})", "merge 0 is not two tokens"},
    {"dropout", R"({"model": {"type": "BPE", "dropout": 0.1, "vocab": {}, "merges": []}})", "dropout 0.1"},
    {"same id twice", WordLevelJson("", R"("a": 1, "b": 1)"), "tokens 'a' and 'b' both have the id 1"},
    {"negative id", WordLevelJson("", R"("a": -1)"), "token 'a' has the id -1"},
    {"added token", WordLevelJson("", R"("a": 0)"),
     "added token '<s>' declares the id 3, but the next free id is 1; the file is not consistent"},
    {"template", WordLevelJson(R"("post_processor": {"type": "TemplateProcessing", "single":
       [{"SpecialToken": {"id": "<x>", "type_id": 0}}], "special_tokens": {}},)"),
     "template's token '<x>' is not among its special_tokens"},
    {"wrong type", R"({"model": {"type": "Unigram", "vocab": [["a", "b"]]}})", "piece 0 is not a token and its score"},
    {"charsmap", WordLevelJson(R"("normalizer": {"type": "Precompiled", "precompiled_charsmap": "////fw=="},)"),
     "precompiled_charsmap is truncated"},
};

TEST(Tokenizer, BadFilesAreRefusedInOneLine) {
  for (const BadFile& bad : kBadFiles) {
    EXPECT_THAT(ErrorOf(bad.json), HasSubstr(bad.message)) << bad.what;
  }
  EXPECT_THAT(Tokenizer::FromFile("/no/such/tokenizer.json").status().message(),
              HasSubstr("/no/such/tokenizer.json: No such file"));
}

TEST(Tokenizer, UnknownTextWithoutAnUnknownTokenFails) {
  const auto tokenizer = Tokenizer::FromJson(R"({"model": {"type": "WordLevel", "vocab": {"a": 0}}})", "test.json");
  ASSERT_TRUE(tokenizer.ok());
  EXPECT_TRUE(tokenizer->Encode("a", false).ok());
  EXPECT_THAT(tokenizer->Encode("b", false).status().message(), HasSubstr("no unknown token"));
}

TEST(Tokenizer, ATextThatGrowsWithEveryStepIsRefused) {
  std::string doubling = R"({"type": "Replace", "pattern": {"String": "a"}, "content": "aa"})";
  std::string bytes = R"({"type": "ByteLevel", "add_prefix_space": false, "use_regex": false})";
  for (int i = 0; i < 5; ++i) {
    doubling += ',' + doubling;
    bytes += ',' + bytes;
  }
  const Tokenizer normalizing = WordLevel(R"("normalizer": {"type": "Sequence", "normalizers": [)" + doubling + "]},");
  EXPECT_EQ(normalizing.Encode("aaab", false).status().message(),
            "cannot tokenise the text: the tokeniser's normalizer makes more than 65792 bytes of it");
  EXPECT_THAT(*normalizing.Encode("b", false), ElementsAre(2));
  const Result<Tokenizer> splitting =
      Tokenizer::FromJson(R"({"pre_tokenizer": {"type": "Sequence", "pretokenizers": [)" + bytes +
                              R"(]}, "model": {"type": "WordLevel", "unk_token": "<unk>", "vocab": {"<unk>": 0}}})",
                          "test.json");
  ASSERT_TRUE(splitting.ok()) << splitting.status().message();
  EXPECT_EQ(splitting->Encode("é", false).status().message(),
            "cannot tokenise the text: the tokeniser's pre_tokenizer makes more than 65664 bytes of it");
}

TEST(Tokenizer, ALongReplacementOfEveryCharacterIsRefused) {
  const Tokenizer tokenizer = WordLevel(R"("normalizer": {"type": "Replace", "pattern": {"Regex": "."}, "content": ")" +
                                        std::string(100'000, 'c') + R"("},)");
  EXPECT_THAT(tokenizer.Encode(std::string(100'000, 'a'), false).status().message(),
              HasSubstr("normalizer makes more than 6465536 bytes"));
}

Tokenizer Kept() {
  const auto tokenizer = LoadTokenizerFolder(std::string(ASSAY_SOURCE_DIR) + "/share/tokenizers/assay-8k");
  EXPECT_TRUE(tokenizer.ok()) << tokenizer.status().message();
  return *tokenizer;
}

TEST(Tokenizer, ReadsAFolderWithItsSpecialTokens) {
  const Tokenizer tokenizer = Kept();
  EXPECT_EQ(tokenizer.vocab_size(), 8192);
  EXPECT_EQ(tokenizer.Token(tokenizer.special_tokens().eos.value()), "<|endoftext|>");
  EXPECT_EQ(tokenizer.Token(tokenizer.special_tokens().bos.value()), "<|endoftext|>");
  EXPECT_TRUE(tokenizer.special_tokens().pad.has_value());
}

TEST(Tokenizer, FolderErrors) {
  const auto folder = *TemporaryDirectory::Create("tokenizer_test");
  EXPECT_THAT(LoadTokenizerFolder(folder.path()).status().message(), HasSubstr("no tokenizer.json in"));
  ASSERT_TRUE(WriteFileAtomically(folder.path() + "/tokenizer.json", WordLevelJson()).ok());
  EXPECT_TRUE(LoadTokenizerFolder(folder.path()).ok());
  ASSERT_TRUE(WriteFileAtomically(folder.path() + "/tokenizer_config.json",
                                  R"({"bos_token": {"content": "<s>"}, "eos_token": null, "pad_token": "<nopad>"})")
                  .ok());
  const auto tokenizer = LoadTokenizerFolder(folder.path());
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.status().message();
  EXPECT_EQ(tokenizer->special_tokens().bos, 3);
  EXPECT_EQ(tokenizer->special_tokens().eos, std::nullopt);
  EXPECT_EQ(tokenizer->special_tokens().pad, std::nullopt);
  ASSERT_TRUE(WriteFileAtomically(folder.path() + "/tokenizer_config.json", R"({"eos_token": "</nope>"})").ok());
  EXPECT_THAT(LoadTokenizerFolder(folder.path()).status().message(), HasSubstr("eos_token '</nope>' is not a token"));
}

TEST(Tokenizer, EncodesFromSeveralThreadsAtOnce) {
  const Tokenizer tokenizer = Kept();
  std::vector<std::string> texts;
  for (int i = 0; i < 200; ++i) {
    texts.push_back("It is a truth universally acknowledged, number " + std::to_string(i * 37) + ".");
  }
  std::vector<std::vector<int32_t>> encoded(texts.size());
  {
    std::atomic<size_t> next = 0;
    std::vector<std::jthread> threads;
    for (int thread = 0; thread < 4; ++thread) {
      threads.emplace_back([&] {
        for (size_t i = next++; i < texts.size(); i = next++) {
          encoded[i] = *tokenizer.Encode(texts[i], false);
        }
      });
    }
  }
  for (size_t i = 0; i < texts.size(); ++i) {
    EXPECT_EQ(encoded[i], *tokenizer.Encode(texts[i], false));
    EXPECT_EQ(*tokenizer.Decode(encoded[i], false), texts[i]);
  }
}

TEST(Tokenizer, TheCacheChangesNothing) {
  const Tokenizer tokenizer = Kept();
  const std::string word(24, 'e');  // as long as the cache keeps, at the end of the text and within it
  const auto alone = *tokenizer.Encode(word, false);
  const auto again = *tokenizer.Encode(word, false);
  EXPECT_EQ(alone, again);
  auto twice = alone;
  const auto spaced = *tokenizer.Encode(" " + word, false);
  twice.insert(twice.end(), spaced.begin(), spaced.end());
  EXPECT_EQ(*tokenizer.Encode(word + " " + word, false), twice);
}

}  // namespace
}  // namespace assay::data
