// Runs the tokeniser from outside, for the parity tests and the benchmark.
//
//   tokenizer_tool encode TOKENIZER TEXTS   TEXTS: a u32 byte count and that many bytes, again and again.
//                                           Prints a line of ids for each text; encode-special adds special tokens.
//   tokenizer_tool decode TOKENIZER IDS     IDS: lines of ids. Prints a line of JSON text for each.
//   tokenizer_tool time TOKENIZER TEXTS N   Encodes all texts N times; prints the best user seconds and the tokens.
//   tokenizer_tool matches PATTERN TEXTS    Prints a line of the byte offsets of all matches for each text.
//   tokenizer_tool train OUTPUT VOCAB_SIZE FILE...
#include <sys/resource.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"
#include "base/json.h"
#include "data/tokenizer/bpe_trainer.h"
#include "data/tokenizer/regex.h"
#include "data/tokenizer/tokenizer.h"

namespace assay::data {
namespace {

std::vector<std::string> ReadTexts(std::string_view file) {
  std::vector<std::string> texts;
  while (file.size() >= sizeof(uint32_t)) {
    uint32_t size = 0;
    std::memcpy(&size, file.data(), sizeof size);
    texts.emplace_back(file.substr(sizeof size, size));
    file.remove_prefix(std::min(file.size(), sizeof size + size));
  }
  return texts;
}

Status EncodeTexts(const Tokenizer& tokenizer, const std::string& path, bool add_special_tokens) {
  ASSAY_ASSIGN_OR_RETURN(const std::string file, ReadFile(path));
  for (const std::string& text : ReadTexts(file)) {
    ASSAY_ASSIGN_OR_RETURN(const std::vector<int32_t> ids, tokenizer.Encode(text, add_special_tokens));
    std::string line;
    for (const int32_t id : ids) {
      line += std::to_string(id) + ' ';
    }
    std::puts(line.c_str());
  }
  return Status::Ok();
}

Status DecodeLines(const Tokenizer& tokenizer, const std::string& path) {
  ASSAY_ASSIGN_OR_RETURN(const std::string file, ReadFile(path));
  std::istringstream lines(file);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream numbers(line);
    std::vector<int32_t> ids;
    for (int32_t id = 0; numbers >> id;) {
      ids.push_back(id);
    }
    ASSAY_ASSIGN_OR_RETURN(const std::string text, tokenizer.Decode(ids, false));
    ASSAY_ASSIGN_OR_RETURN(const std::string plain, tokenizer.Decode(ids, true));
    std::puts(DumpJson({text, plain}).c_str());
  }
  return Status::Ok();
}

Status PrintMatches(const std::string& pattern, const std::string& path) {
  ASSAY_ASSIGN_OR_RETURN(const Regex regex, Regex::Compile(pattern));
  ASSAY_ASSIGN_OR_RETURN(const std::string file, ReadFile(path));
  for (const std::string& text : ReadTexts(file)) {
    std::string line;
    ASSAY_RETURN_IF_ERROR(regex.ForEachMatch(
        text, [&line](size_t begin, size_t end) { line += std::to_string(begin) + ' ' + std::to_string(end) + ' '; }));
    std::puts(line.c_str());
  }
  return Status::Ok();
}

double UserSeconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_utime.tv_sec) + 1e-6 * static_cast<double>(usage.ru_utime.tv_usec);
}

Status TimeEncode(const Tokenizer& tokenizer, const std::string& path, int repeats) {
  ASSAY_ASSIGN_OR_RETURN(const std::string file, ReadFile(path));
  const std::vector<std::string> texts = ReadTexts(file);
  double best = 1e30;
  size_t tokens = 0;
  for (int i = 0; i < repeats; ++i) {
    tokens = 0;
    const double begin = UserSeconds();
    for (const std::string& text : texts) {
      ASSAY_ASSIGN_OR_RETURN(const std::vector<int32_t> ids, tokenizer.Encode(text, false));
      tokens += ids.size();
    }
    best = std::min(best, UserSeconds() - begin);
  }
  std::printf("%.6f %zu\n", best, tokens);
  return Status::Ok();
}

Status Train(const std::string& output, int64_t vocab_size, std::vector<std::string> files) {
  std::vector<std::string> texts;
  for (const std::string& file : files) {
    ASSAY_ASSIGN_OR_RETURN(std::string text, ReadFile(file));
    texts.push_back(std::move(text));
  }
  BpeTrainerOptions options;
  options.vocab_size = vocab_size;
  ASSAY_ASSIGN_OR_RETURN(const std::string json, TrainByteLevelBpe(texts, options));
  return WriteFileAtomically(output, json);
}

Status Run(const std::vector<std::string>& arguments) {
  if (arguments.size() < 3) {
    return Status::InvalidArgument("usage: tokenizer_tool encode|encode-special|decode|time|matches|train ...");
  }
  const std::string& verb = arguments[0];
  if (verb == "train") {
    return Train(arguments[1], std::atoll(arguments[2].c_str()), {arguments.begin() + 3, arguments.end()});
  }
  if (verb == "matches") {
    return PrintMatches(arguments[1], arguments[2]);
  }
  ASSAY_ASSIGN_OR_RETURN(const Tokenizer tokenizer, Tokenizer::FromFile(arguments[1]));
  if (verb == "time") {
    return TimeEncode(tokenizer, arguments[2], arguments.size() > 3 ? std::atoi(arguments[3].c_str()) : 1);
  }
  return verb == "decode" ? DecodeLines(tokenizer, arguments[2])
                          : EncodeTexts(tokenizer, arguments[2], verb == "encode-special");
}

}  // namespace
}  // namespace assay::data

int main(int argc, char** argv) {
  const assay::Status status = assay::data::Run({argv + 1, argv + argc});
  if (!status.ok()) {
    std::fprintf(stderr, "tokenizer_tool: %s\n", status.message().c_str());
  }
  return assay::ExitCode(status);
}
