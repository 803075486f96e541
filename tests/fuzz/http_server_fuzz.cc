// The server's HTTP parser: a request means the same in whatever pieces it comes.
#include <algorithm>
#include <string>
#include <string_view>

#include "fuzz_input.h"
#include "http/server_chunked.h"
#include "http/server_parser.h"

namespace {

using assay::fuzz::Require;
using assay::http::ChunkedDecoder;
using assay::http::HeadParser;

/// Feeds `text` in pieces of `step` bytes; returns how many were taken.
size_t FeedAll(HeadParser& parser, std::string_view text, size_t step) {
  size_t taken = 0;
  while (taken < text.size() && parser.state() == HeadParser::State::kNeedMore) {
    taken += parser.Feed(text.substr(taken, step));
  }
  return taken;
}

std::string DecodeAll(ChunkedDecoder& decoder, std::string_view text, size_t step) {
  std::string data;
  while (!text.empty() && decoder.state() == ChunkedDecoder::State::kNeedMore) {
    const std::string_view piece = text.substr(0, step);
    size_t taken = 0;
    if (decoder.data_remaining() > 0) {
      taken = static_cast<size_t>(std::min<int64_t>(decoder.data_remaining(), static_cast<int64_t>(piece.size())));
      data.append(piece.substr(0, taken));
      decoder.ConsumeData(static_cast<int64_t>(taken));
    } else {
      taken = decoder.FeedFraming(piece);
    }
    Require(taken > 0, "every step takes something");
    text.remove_prefix(taken);
  }
  return data;
}

void CheckChunks(std::string_view text) {
  ChunkedDecoder whole;
  ChunkedDecoder pieces;
  const std::string data = DecodeAll(whole, text, text.size());
  Require(data == DecodeAll(pieces, text, 1), "the data of chunks does not depend on the pieces");
  Require(whole.state() == pieces.state(), "the end of chunks does not depend on the pieces");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  HeadParser whole;
  HeadParser pieces;
  const size_t taken = FeedAll(whole, text, std::max<size_t>(size, 1));
  const size_t taken_in_pieces = FeedAll(pieces, text, 1);
  Require(whole.state() == pieces.state(), "a head does not depend on the pieces it comes in");
  if (whole.state() == HeadParser::State::kDone) {
    Require(taken == taken_in_pieces, "the end of a head does not depend on the pieces it comes in");
    const assay::http::RequestHead head = whole.Take();
    Require(head.target.starts_with('/'), "a target begins with a slash");
    Require(!head.chunked || !head.content_length, "a body has one framing");
    Require(pieces.Take().headers.all().size() == head.headers.all().size(), "the headers are the same");
    CheckChunks(text.substr(taken));
  }
  CheckChunks(text);
  return 0;
}
