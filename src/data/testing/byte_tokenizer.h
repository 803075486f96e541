// A tokeniser for tests whose ids can be read off the text: one token a byte, the byte's value its id.
#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "base/files.h"
#include "data/tokenizer/tokenizer.h"

namespace assay::data {

struct ByteTokenizerOptions {
  bool joins_newlines = false;  ///< two newlines are one token, as with Llama 3
};

/// Keeps a folder with tokenizer.json and tokenizer_config.json as long as it lives.
class ByteTokenizer {
 public:
  static constexpr int32_t kTwoNewlines = 256;
  static constexpr int32_t kBos = 257;
  static constexpr int32_t kEos = 258;
  static constexpr int32_t kTurnStart = 259;  ///< <|im_start|>
  static constexpr int32_t kTurnEnd = 260;    ///< <|im_end|>
  static constexpr int64_t kVocabSize = 261;

  explicit ByteTokenizer(ByteTokenizerOptions options = {})
      : directory_(*TemporaryDirectory::Create("byte_tokenizer")) {
    std::ofstream(folder() + "/tokenizer.json") << Json(options).dump();
    std::ofstream(folder() + "/tokenizer_config.json") << R"({"bos_token": "<s>", "eos_token": "</s>"})";
  }

  const std::string& folder() const { return directory_.path(); }

  std::optional<Tokenizer> Load() const {
    auto tokenizer = LoadTokenizerFolder(folder());
    EXPECT_TRUE(tokenizer.ok()) << tokenizer.status().message();
    return tokenizer.ok() ? std::optional<Tokenizer>(*tokenizer) : std::nullopt;
  }

  static std::string Text(int32_t id) {
    switch (id) {
      case kTwoNewlines:
        return "\n\n";
      case kBos:
        return "<s>";
      case kEos:
        return "</s>";
      case kTurnStart:
        return "<|im_start|>";
      case kTurnEnd:
        return "<|im_end|>";
      default:
        return std::string(1, static_cast<char>(id));
    }
  }

 private:
  /// GPT-2's printable stand-in for a byte, in UTF-8.
  static std::string StandIn(int byte) {
    const auto printable = [](int b) { return (b >= 33 && b <= 126) || (b >= 161 && b != 173); };
    int code = byte;
    if (!printable(byte)) {
      code = 256;
      for (int b = 0; b < byte; ++b) {
        code += printable(b) ? 0 : 1;
      }
    }
    if (code < 0x80) {
      return std::string(1, static_cast<char>(code));
    }
    return {static_cast<char>(0xC0 | (code >> 6)), static_cast<char>(0x80 | (code & 0x3F))};
  }

  static nlohmann::json Json(ByteTokenizerOptions options) {
    nlohmann::json vocab;
    for (int byte = 0; byte < 256; ++byte) {
      vocab[StandIn(byte)] = byte;
    }
    const std::string newline = StandIn('\n');
    vocab[newline + newline] = kTwoNewlines;
    nlohmann::json merges = nlohmann::json::array();
    if (options.joins_newlines) {
      merges.push_back({newline, newline});
    }
    nlohmann::json added = nlohmann::json::array();
    for (const int32_t id : {kBos, kEos, kTurnStart, kTurnEnd}) {
      added.push_back({{"id", id},
                       {"content", Text(id)},
                       {"single_word", false},
                       {"lstrip", false},
                       {"rstrip", false},
                       {"normalized", false},
                       {"special", true}});
    }
    const nlohmann::json byte_level = {
        {"type", "ByteLevel"}, {"add_prefix_space", false}, {"trim_offsets", false}, {"use_regex", false}};
    const nlohmann::json bos = {{"SpecialToken", {{"id", "<s>"}, {"type_id", 0}}}};
    const nlohmann::json text = {{"Sequence", {{"id", "A"}, {"type_id", 0}}}};
    return {{"version", "1.0"},
            {"truncation", nullptr},
            {"padding", nullptr},
            {"added_tokens", added},
            {"normalizer", nullptr},
            {"pre_tokenizer", byte_level},
            {"decoder", byte_level},
            {"post_processor",
             {{"type", "TemplateProcessing"},
              {"single", nlohmann::json::array({bos, text})},
              {"pair", nlohmann::json::array({bos, text})},
              {"special_tokens", {{"<s>", {{"id", "<s>"}, {"ids", {kBos}}, {"tokens", {"<s>"}}}}}}}},
            {"model",
             {{"type", "BPE"},
              {"dropout", nullptr},
              {"unk_token", nullptr},
              {"continuing_subword_prefix", nullptr},
              {"end_of_word_suffix", nullptr},
              {"fuse_unk", false},
              {"byte_fallback", false},
              {"vocab", vocab},
              {"merges", merges}}}};
  }

  TemporaryDirectory directory_;
};

}  // namespace assay::data
