#include "data/tokenizer/normalizer.h"

#include <fmt/format.h>
#include <utf8proc.h>

#include <algorithm>
#include <cstdlib>
#include <new>
#include <utility>

#include "data/tokenizer/byte_alphabet.h"
#include "data/tokenizer/unicode.h"

namespace assay::data {
namespace {

// Calls `visit(code_point, bytes of it)` for every character.
template <typename Visit>
void ForEachCharacter(std::string_view text, const Visit& visit) {
  for (size_t i = 0; i < text.size();) {
    const CodePoint c = DecodeUtf8(text.data() + i);
    visit(c.value, text.substr(i, c.bytes));
    i += c.bytes;
  }
}

// Puts what `append(code point, bytes of it, &made)` makes of every character in its place.
template <typename Append>
void MapCharacters(NormalizedText* text, const Append& append) {
  std::string made;
  made.reserve(text->bytes.size());
  const auto append_character = [&](uint32_t c, std::string_view bytes) { append(c, bytes, &made); };
  const std::string_view given = text->bytes;
  ForEachCharacter(given.substr(0, text->first), append_character);
  const size_t first = made.size();
  ForEachCharacter(given.substr(text->first), append_character);
  text->bytes = std::move(made);
  text->first = first;
}

template <typename Keep>
void KeepCharacters(NormalizedText* text, const Keep& keep) {
  MapCharacters(text, [&](uint32_t c, std::string_view bytes, std::string* kept) {
    if (keep(c)) {
      *kept += bytes;
    }
  });
}

utf8proc_option_t Utf8procOptions(UnicodeForm form) {
  switch (form) {
    case UnicodeForm::kNfc:
      return static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE);
    case UnicodeForm::kNfd:
      return static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_DECOMPOSE);
    case UnicodeForm::kNfkc:
      return static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE | UTF8PROC_COMPAT);
    case UnicodeForm::kNfkd:
      return static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_DECOMPOSE | UTF8PROC_COMPAT);
  }
  return UTF8PROC_STABLE;
}

void AppendNormalized(std::string_view text, UnicodeForm form, std::string* out) {
  utf8proc_uint8_t* mapped = nullptr;
  const utf8proc_ssize_t size =
      utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(text.data()), static_cast<utf8proc_ssize_t>(text.size()),
                   &mapped, Utf8procOptions(form));
  if (size < 0) {
    throw std::bad_alloc();  // the text is UTF-8: nothing else can fail
  }
  out->append(reinterpret_cast<const char*>(mapped), static_cast<size_t>(size));
  std::free(mapped);
}

// A quick check: only NFC has a class of its own, any other form may change any character outside ASCII.
bool NeedsNormalizing(std::string_view text, UnicodeForm form) {
  const uint16_t* classes = CharClasses();
  const bool nfc = form == UnicodeForm::kNfc;
  const unsigned char first_lead = nfc ? 0xCC : 0x80;
  for (size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if (byte < first_lead || (byte & 0xC0) == 0x80) {
      continue;
    }
    if (!nfc || (classes[DecodeUtf8(text.data() + i).value] & kNfcUnstable) != 0) {
      return true;
    }
  }
  return false;
}

class UnicodeNormalizer final : public Normalizer {
 public:
  explicit UnicodeNormalizer(UnicodeForm form) : form_(form) {}

  Status Apply(NormalizedText* text) const override {
    if (!NeedsNormalizing(text->bytes, form_)) {
      return Status::Ok();
    }
    size_t first = Normalized(std::string_view(text->bytes).substr(0, text->first)).size();
    text->bytes = Normalized(text->bytes);
    // Marks that follow may have joined the last character.
    while (first < text->bytes.size() && IsContinuation(text->bytes[first])) {
      ++first;
    }
    text->first = std::min(first, text->bytes.size());
    return Status::Ok();
  }

 private:
  static bool IsContinuation(char byte) { return (static_cast<unsigned char>(byte) & 0xC0) == 0x80; }

  std::string Normalized(std::string_view text) const {
    std::string normalized;
    normalized.reserve(text.size());
    size_t done = 0;
    size_t at = 0;
    ForEachCharacter(text, [&](uint32_t c, std::string_view bytes) {
      if (IsNormalisationBarrier(c)) {
        AppendNormalized(text.substr(done, at - done), form_, &normalized);
        normalized += bytes;
        done = at + bytes.size();
      }
      at += bytes.size();
    });
    AppendNormalized(text.substr(done), form_, &normalized);
    return normalized;
  }

  UnicodeForm form_;
};

class LowercaseNormalizer final : public Normalizer {
 public:
  Status Apply(NormalizedText* text) const override {
    MapCharacters(text, [](uint32_t c, std::string_view, std::string* lower) {
      if (c < 0x80) {
        *lower += c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : static_cast<char>(c);
      } else {
        AppendLowercase(c, lower);
      }
    });
    return Status::Ok();
  }
};

class StripNormalizer final : public Normalizer {
 public:
  StripNormalizer(bool left, bool right) : left_(left), right_(right) {}

  Status Apply(NormalizedText* text) const override {
    const std::string_view bytes = text->bytes;
    size_t begin = 0;
    size_t end = bytes.size();
    const auto is_space = [&](size_t i) { return (CharClasses()[DecodeUtf8(bytes.data() + i).value] & kSpace) != 0; };
    while (left_ && begin < end && is_space(begin)) {
      begin += Utf8Length(bytes[begin]);
    }
    while (right_ && end > begin && is_space(PreviousUtf8(bytes, end))) {
      end = PreviousUtf8(bytes, end);
    }
    text->first = std::clamp(text->first, begin, end) - begin;
    text->bytes = text->bytes.substr(begin, end - begin);
    return Status::Ok();
  }

 private:
  bool left_;
  bool right_;
};

class StripAccentsNormalizer final : public Normalizer {
 public:
  Status Apply(NormalizedText* text) const override {
    KeepCharacters(text, [classes = CharClasses()](uint32_t c) { return (classes[c] & kCombining) == 0; });
    return Status::Ok();
  }
};

// SentencePiece's "nmt" rules: control characters go, unusual spaces become a space.
class NmtNormalizer final : public Normalizer {
 public:
  Status Apply(NormalizedText* text) const override {
    MapCharacters(text, [](uint32_t c, std::string_view bytes, std::string* mapped) {
      if (IsSpace(c)) {
        *mapped += ' ';
      } else if (!IsControl(c)) {
        *mapped += bytes;
      }
    });
    return Status::Ok();
  }

 private:
  static bool IsControl(uint32_t c) {
    return (c >= 0x01 && c <= 0x08) || c == 0x0B || (c >= 0x0E && c <= 0x1F) || c == 0x7F || c == 0x8F || c == 0x9F;
  }
  static bool IsSpace(uint32_t c) {
    return c == 0x09 || c == 0x0A || c == 0x0C || c == 0x0D || c == 0x1680 || (c >= 0x200B && c <= 0x200F) ||
           c == 0x2028 || c == 0x2029 || c == 0x2581 || c == 0xFEFF || c == 0xFFFD;
  }
};

class PrependNormalizer final : public Normalizer {
 public:
  explicit PrependNormalizer(std::string prefix) : prefix_(std::move(prefix)) {}

  Status Apply(NormalizedText* text) const override {
    if (!text->bytes.empty()) {
      text->bytes.insert(0, prefix_);
      text->first += text->first > 0 ? prefix_.size() : 0;
    }
    return Status::Ok();
  }

 private:
  std::string prefix_;
};

// Replaces parts of a text, from left to right.
class Replacing {
 public:
  Replacing(NormalizedText* text, std::string_view to) : text_(*text), to_(to) {
    made_.reserve(text_.bytes.size() + text_.bytes.size() / 8);
  }

  void Replace(size_t begin, size_t end) {
    if (made_.size() > text_.most) {
      return;
    }
    Keep(begin);
    made_ += to_;
    // What is put in belongs to the last character that it replaces.
    first_ = end <= text_.first ? made_.size() : first_;
    done_ = end;
  }

  Status Finish() {
    ASSAY_RETURN_IF_ERROR(text_.CheckSize(made_.size()));
    Keep(text_.bytes.size());
    text_.bytes = std::move(made_);
    text_.first = first_;
    return Status::Ok();
  }

 private:
  void Keep(size_t end) {
    if (done_ < text_.first) {
      first_ = made_.size() + std::min(end, text_.first) - done_;
    }
    made_.append(text_.bytes, done_, end - done_);
  }

  NormalizedText& text_;
  std::string_view to_;
  std::string made_;
  size_t done_ = 0;
  size_t first_ = 0;
};

class ReplaceNormalizer final : public Normalizer {
 public:
  ReplaceNormalizer(std::string from, std::string to) : from_(std::move(from)), to_(std::move(to)) {}

  Status Apply(NormalizedText* text) const override {
    Replacing replacing(text, to_);
    for (size_t at = text->bytes.find(from_); at != std::string::npos;
         at = text->bytes.find(from_, at + from_.size())) {
      replacing.Replace(at, at + from_.size());
    }
    return replacing.Finish();
  }

 private:
  std::string from_;
  std::string to_;
};

class RegexReplaceNormalizer final : public Normalizer {
 public:
  RegexReplaceNormalizer(Regex from, std::string to) : from_(std::move(from)), to_(std::move(to)) {}

  Status Apply(NormalizedText* text) const override {
    Replacing replacing(text, to_);
    ASSAY_RETURN_IF_ERROR(
        from_.ForEachMatch(text->bytes, [&](size_t begin, size_t end) { replacing.Replace(begin, end); }));
    return replacing.Finish();
  }

 private:
  Regex from_;
  std::string to_;
};

bool IsChinese(uint32_t c) {
  return (c >= 0x4E00 && c <= 0x9FFF) || (c >= 0x3400 && c <= 0x4DBF) || (c >= 0x20000 && c <= 0x2A6DF) ||
         (c >= 0x2A700 && c <= 0x2B81F) || (c >= 0x2B920 && c <= 0x2CEAF) || (c >= 0xF900 && c <= 0xFAFF) ||
         (c >= 0x2F800 && c <= 0x2FA1F);
}

class BertNormalizer final : public Normalizer {
 public:
  explicit BertNormalizer(BertNormalizerOptions options) : options_(options) {}

  Status Apply(NormalizedText* text) const override {
    const uint16_t* classes = CharClasses();
    if (options_.clean_text) {
      MapCharacters(text, [&](uint32_t c, std::string_view bytes, std::string* clean) {
        if (c != 0 && c != 0xFFFD && (classes[c] & kControl) == 0) {
          *clean += (classes[c] & kSpace) != 0 ? " " : bytes;
        }
      });
    }
    if (options_.handle_chinese_chars) {
      MapCharacters(text, [](uint32_t c, std::string_view bytes, std::string* spaced) {
        const std::string_view margin = IsChinese(c) ? " " : "";
        spaced->append(margin).append(bytes).append(margin);
      });
    }
    if (options_.strip_accents) {
      ASSAY_RETURN_IF_ERROR(decompose_.Apply(text));
      KeepCharacters(text, [&](uint32_t c) { return (classes[c] & kNonspacing) == 0; });
    }
    return options_.lowercase ? lowercase_.Apply(text) : Status::Ok();
  }

 private:
  BertNormalizerOptions options_;
  UnicodeNormalizer decompose_{UnicodeForm::kNfd};
  LowercaseNormalizer lowercase_;
};

class ByteLevelNormalizer final : public Normalizer {
 public:
  Status Apply(NormalizedText* text) const override {
    text->first = ToByteAlphabet(std::string_view(text->bytes).substr(0, text->first)).size();
    text->bytes = ToByteAlphabet(text->bytes);
    return Status::Ok();
  }
};

class NormalizerSequence final : public Normalizer {
 public:
  explicit NormalizerSequence(std::vector<NormalizerPtr> parts) : parts_(std::move(parts)) {}

  Status Apply(NormalizedText* text) const override {
    for (const NormalizerPtr& part : parts_) {
      ASSAY_RETURN_IF_ERROR(part->Apply(text));
      ASSAY_RETURN_IF_ERROR(text->CheckSize(text->bytes.size()));
    }
    return Status::Ok();
  }

 private:
  std::vector<NormalizerPtr> parts_;
};

}  // namespace

NormalizedText::NormalizedText(std::string_view given) : bytes(given), most(MostBytesFrom(given.size())) {
  first = given.empty() ? 0 : Utf8Length(given[0]);
}

Status NormalizedText::CheckSize(size_t size) const {
  return size <= most
             ? Status::Ok()
             : Status::InvalidArgument(fmt::format(
                   "cannot tokenise the text: the tokeniser's normalizer makes more than {} bytes of it", most));
}

NormalizerPtr MakeUnicodeNormalizer(UnicodeForm form) {
  return std::make_unique<UnicodeNormalizer>(form);
}
NormalizerPtr MakeLowercaseNormalizer() {
  return std::make_unique<LowercaseNormalizer>();
}
NormalizerPtr MakeStripNormalizer(bool left, bool right) {
  return std::make_unique<StripNormalizer>(left, right);
}
NormalizerPtr MakeStripAccentsNormalizer() {
  return std::make_unique<StripAccentsNormalizer>();
}
NormalizerPtr MakeNmtNormalizer() {
  return std::make_unique<NmtNormalizer>();
}
NormalizerPtr MakePrependNormalizer(std::string prefix) {
  return std::make_unique<PrependNormalizer>(std::move(prefix));
}
NormalizerPtr MakeReplaceNormalizer(std::string from, std::string to) {
  return std::make_unique<ReplaceNormalizer>(std::move(from), std::move(to));
}
NormalizerPtr MakeReplaceNormalizer(Regex from, std::string to) {
  return std::make_unique<RegexReplaceNormalizer>(std::move(from), std::move(to));
}
NormalizerPtr MakeBertNormalizer(BertNormalizerOptions options) {
  return std::make_unique<BertNormalizer>(options);
}
NormalizerPtr MakeByteLevelNormalizer() {
  return std::make_unique<ByteLevelNormalizer>();
}
NormalizerPtr MakeNormalizerSequence(std::vector<NormalizerPtr> parts) {
  return std::make_unique<NormalizerSequence>(std::move(parts));
}

std::string ReplaceAll(std::string_view text, std::string_view from, std::string_view to) {
  std::string out;
  out.reserve(text.size() + text.size() / 8);
  size_t done = 0;
  for (size_t at = text.find(from); at != std::string_view::npos; at = text.find(from, done)) {
    out.append(text, done, at - done).append(to);
    done = at + from.size();
  }
  return out.append(text, done);
}

Result<std::string> ReplaceAll(std::string_view text, const Regex& from, std::string_view to) {
  std::string out;
  size_t done = 0;
  ASSAY_RETURN_IF_ERROR(from.ForEachMatch(text, [&](size_t begin, size_t end) {
    out.append(text, done, begin - done).append(to);
    done = end;
  }));
  return out.append(text, done);
}

}  // namespace assay::data
