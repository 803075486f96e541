#include "data/tokenizer/decoder.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include "data/tokenizer/byte_alphabet.h"
#include "data/tokenizer/normalizer.h"
#include "data/tokenizer/unicode.h"

namespace assay::data {
namespace {

constexpr std::string_view kReplacementCharacter = "\xEF\xBF\xBD";

std::string JoinAll(const std::vector<std::string>& tokens) {
  std::string text;
  for (const std::string& token : tokens) {
    text += token;
  }
  return text;
}

// English without the spaces that cutting into words leaves.
std::string CleanUp(std::string text) {
  constexpr std::pair<std::string_view, std::string_view> kRules[] = {
      {" .", "."},   {" ?", "?"},           {" !", "!"},   {" ,", ","},     {" ' ", "'"},   {" n't", "n't"},
      {" 'm", "'m"}, {" do not", " don't"}, {" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"}};
  for (const auto& [from, to] : kRules) {
    text = ReplaceAll(text, from, to);
  }
  return text;
}

class ByteLevelDecoder final : public Decoder {
 public:
  Status Apply(std::vector<std::string>* tokens) const override {
    std::string bytes;
    for (const std::string& token : *tokens) {
      bytes += FromByteAlphabet(token).value_or(token);
    }
    tokens->assign(1, IsValidUtf8(bytes) ? std::move(bytes) : RepairUtf8(bytes));
    return Status::Ok();
  }
};

// Tokens <0xHH> are bytes; a run of them that is not UTF-8 becomes one U+FFFD a byte.
class ByteFallbackDecoder final : public Decoder {
 public:
  Status Apply(std::vector<std::string>* tokens) const override {
    std::vector<std::string> decoded;
    std::string bytes;
    const auto flush = [&] {
      if (IsValidUtf8(bytes)) {
        decoded.push_back(bytes);
      } else {
        decoded.insert(decoded.end(), bytes.size(), std::string(kReplacementCharacter));
      }
      bytes.clear();
    };
    for (std::string& token : *tokens) {
      if (const std::optional<char> byte = Byte(token)) {
        bytes.push_back(*byte);
        continue;
      }
      if (!bytes.empty()) {
        flush();
      }
      decoded.push_back(std::move(token));
    }
    if (!bytes.empty()) {
      flush();
    }
    *tokens = std::move(decoded);
    return Status::Ok();
  }

 private:
  static std::optional<char> Byte(const std::string& token) {
    if (token.size() != 6 || !token.starts_with("<0x") || token[5] != '>') {
      return std::nullopt;
    }
    unsigned value = 0;
    const auto [end, error] = std::from_chars(token.data() + 3, token.data() + 5, value, 16);
    return error == std::errc() && end == token.data() + 5 ? std::optional<char>(static_cast<char>(value))
                                                           : std::nullopt;
  }
};

class FuseDecoder final : public Decoder {
 public:
  Status Apply(std::vector<std::string>* tokens) const override {
    tokens->assign(1, JoinAll(*tokens));
    return Status::Ok();
  }
};

class StripDecoder final : public Decoder {
 public:
  StripDecoder(std::string content, size_t start, size_t stop)
      : content_(std::move(content)), start_(start), stop_(stop) {}

  Status Apply(std::vector<std::string>* tokens) const override {
    for (std::string& token : *tokens) {
      for (size_t i = 0; i < start_ && token.starts_with(content_); ++i) {
        token.erase(0, content_.size());
      }
      for (size_t i = 0; i < stop_ && token.ends_with(content_); ++i) {
        token.resize(token.size() - content_.size());
      }
    }
    return Status::Ok();
  }

 private:
  std::string content_;
  size_t start_;
  size_t stop_;
};

class ReplaceDecoder final : public Decoder {
 public:
  ReplaceDecoder(Regex from, std::string to) : from_(std::move(from)), to_(std::move(to)) {}
  Status Apply(std::vector<std::string>* tokens) const override {
    for (std::string& token : *tokens) {
      ASSAY_ASSIGN_OR_RETURN(token, ReplaceAll(token, from_, to_));
    }
    return Status::Ok();
  }

 private:
  Regex from_;
  std::string to_;
};

class MetaspaceDecoder final : public Decoder {
 public:
  MetaspaceDecoder(std::string replacement, PrependScheme scheme)
      : replacement_(std::move(replacement)), scheme_(scheme) {}
  Status Apply(std::vector<std::string>* tokens) const override {
    for (size_t i = 0; i < tokens->size(); ++i) {
      const bool drop = i == 0 && scheme_ != PrependScheme::kNever;
      (*tokens)[i] = ReplaceAll((*tokens)[i], replacement_, drop ? "" : " ");
    }
    return Status::Ok();
  }

 private:
  std::string replacement_;
  PrependScheme scheme_;
};

class WordPieceDecoder final : public Decoder {
 public:
  WordPieceDecoder(std::string prefix, bool cleanup) : prefix_(std::move(prefix)), cleanup_(cleanup) {}

  Status Apply(std::vector<std::string>* tokens) const override {
    for (size_t i = 0; i < tokens->size(); ++i) {
      std::string& token = (*tokens)[i];
      if (i > 0 && token.starts_with(prefix_)) {
        token.erase(0, prefix_.size());
      } else if (i > 0) {
        token.insert(token.begin(), ' ');
      }
      if (cleanup_) {
        token = CleanUp(std::move(token));
      }
    }
    return Status::Ok();
  }

 private:
  std::string prefix_;
  bool cleanup_;
};

class CtcDecoder final : public Decoder {
 public:
  CtcDecoder(std::string pad, std::string delimiter, bool cleanup)
      : pad_(std::move(pad)), delimiter_(std::move(delimiter)), cleanup_(cleanup) {}

  Status Apply(std::vector<std::string>* tokens) const override {
    tokens->erase(std::unique(tokens->begin(), tokens->end()), tokens->end());
    for (std::string& token : *tokens) {
      token = ReplaceAll(token, pad_, "");
      if (cleanup_) {
        token = ReplaceAll(CleanUp(std::move(token)), delimiter_, " ");
      }
    }
    std::erase(*tokens, "");
    return Status::Ok();
  }

 private:
  std::string pad_;
  std::string delimiter_;
  bool cleanup_;
};

class BpeDecoder final : public Decoder {
 public:
  explicit BpeDecoder(std::string suffix) : suffix_(std::move(suffix)) {}
  Status Apply(std::vector<std::string>* tokens) const override {
    for (size_t i = 0; i < tokens->size(); ++i) {
      (*tokens)[i] = ReplaceAll((*tokens)[i], suffix_, i + 1 == tokens->size() ? "" : " ");
    }
    return Status::Ok();
  }

 private:
  std::string suffix_;
};

class DecoderSequence final : public Decoder {
 public:
  explicit DecoderSequence(std::vector<DecoderPtr> parts) : parts_(std::move(parts)) {}
  Status Apply(std::vector<std::string>* tokens) const override {
    for (const DecoderPtr& part : parts_) {
      ASSAY_RETURN_IF_ERROR(part->Apply(tokens));
    }
    return Status::Ok();
  }

 private:
  std::vector<DecoderPtr> parts_;
};

}  // namespace

DecoderPtr MakeByteLevelDecoder() {
  return std::make_unique<ByteLevelDecoder>();
}
DecoderPtr MakeByteFallbackDecoder() {
  return std::make_unique<ByteFallbackDecoder>();
}
DecoderPtr MakeFuseDecoder() {
  return std::make_unique<FuseDecoder>();
}
DecoderPtr MakeStripDecoder(std::string content, size_t start, size_t stop) {
  return std::make_unique<StripDecoder>(std::move(content), start, stop);
}
DecoderPtr MakeReplaceDecoder(Regex from, std::string to) {
  return std::make_unique<ReplaceDecoder>(std::move(from), std::move(to));
}
DecoderPtr MakeMetaspaceDecoder(std::string replacement, PrependScheme scheme) {
  return std::make_unique<MetaspaceDecoder>(std::move(replacement), scheme);
}
DecoderPtr MakeWordPieceDecoder(std::string prefix, bool cleanup) {
  return std::make_unique<WordPieceDecoder>(std::move(prefix), cleanup);
}
DecoderPtr MakeCtcDecoder(std::string pad, std::string delimiter, bool cleanup) {
  return std::make_unique<CtcDecoder>(std::move(pad), std::move(delimiter), cleanup);
}
DecoderPtr MakeBpeDecoder(std::string suffix) {
  return std::make_unique<BpeDecoder>(std::move(suffix));
}
DecoderPtr MakeDecoderSequence(std::vector<DecoderPtr> parts) {
  return std::make_unique<DecoderSequence>(std::move(parts));
}

}  // namespace assay::data
