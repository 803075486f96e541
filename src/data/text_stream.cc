#include "data/text_stream.h"

#include <algorithm>
#include <string_view>

namespace assay::data {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

std::string From(const std::string& text, size_t begin) {
  return text.substr(std::min(begin, text.size()));
}

}  // namespace

Result<TextStream> TextStream::Create(Tokenizer tokenizer, std::vector<int32_t> prompt_ids) {
  TextStream stream(std::move(tokenizer), std::move(prompt_ids));
  ASSAY_ASSIGN_OR_RETURN(const std::string prompt, stream.Text());
  stream.told_bytes_ = prompt.size();
  return stream;
}

Result<std::string> TextStream::Add(int32_t id) {
  ids_.push_back(id);
  ASSAY_ASSIGN_OR_RETURN(const std::string text, Text());
  if (text.ends_with(kReplacement) || text.size() <= told_bytes_) {
    return std::string();
  }
  std::string more = From(text, told_bytes_);
  told_bytes_ = text.size();
  return more;
}

Result<std::string> TextStream::Finish() {
  ASSAY_ASSIGN_OR_RETURN(const std::string text, Text());
  return From(text, std::exchange(told_bytes_, text.size()));
}

Result<std::string> TextBehind(const Tokenizer& tokenizer, const std::vector<int64_t>& prompt_ids,
                               const std::vector<int64_t>& ids) {
  ASSAY_ASSIGN_OR_RETURN(TextStream stream, TextStream::Create(tokenizer, {prompt_ids.begin(), prompt_ids.end()}));
  std::string text;
  for (const int64_t id : ids) {
    ASSAY_ASSIGN_OR_RETURN(const std::string more, stream.Add(static_cast<int32_t>(id)));
    text += more;
  }
  ASSAY_ASSIGN_OR_RETURN(const std::string rest, stream.Finish());
  return text + rest;
}

}  // namespace assay::data
