#include "http/server_parser.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "http/server_chunked.h"

namespace assay::http {
namespace {

using State = HeadParser::State;

State ParseWhole(std::string_view text, HeadParser& parser) {
  parser.Feed(text);
  return parser.state();
}

int StatusOf(std::string_view text) {
  HeadParser parser;
  return ParseWhole(text, parser) == State::kError ? parser.error().status : 0;
}

constexpr std::string_view kRequest =
    "PUT /b/k%20ey?partNumber=1 HTTP/1.1\r\nHost: a:1\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n";

TEST(HeadParser, ReadsARequestSplitAtEachByte) {
  for (size_t split = 0; split <= kRequest.size(); ++split) {
    HeadParser parser;
    ASSERT_EQ(parser.Feed(kRequest.substr(0, split)), split);
    ASSERT_EQ(parser.Feed(kRequest.substr(split)), kRequest.size() - split);
    ASSERT_EQ(parser.state(), State::kDone) << split;
    const RequestHead head = parser.Take();
    EXPECT_EQ(head.method, "PUT");
    EXPECT_EQ(head.path(), "/b/k%20ey");
    EXPECT_EQ(head.query(), "partNumber=1");
    EXPECT_EQ(head.content_length, 5);
    EXPECT_TRUE(head.expect_continue && head.keep_alive && !head.chunked);
  }
}

TEST(HeadParser, LeavesWhatFollowsTheHead) {
  HeadParser parser;
  EXPECT_EQ(parser.Feed(std::string(kRequest) + "12345GET"), kRequest.size());
  parser.Take();
  EXPECT_TRUE(parser.idle());
}

TEST(HeadParser, RefusesWhatCouldSmuggle) {
  EXPECT_EQ(StatusOf("GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n"), 400);
  EXPECT_EQ(StatusOf("GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\n"), 400);
  EXPECT_EQ(StatusOf("GET / HTTP/1.1\r\nHost: a\r\nContent-Length: +5\r\n\r\n"), 400);
  EXPECT_EQ(StatusOf("GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 5, 5\r\n\r\n"), 400);
  EXPECT_EQ(StatusOf("GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 9999999999999999999\r\n\r\n"), 400);
  EXPECT_EQ(StatusOf("GET / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n"), 501);
  EXPECT_EQ(StatusOf("GET / HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"), 400);
  EXPECT_EQ(StatusOf("GET / HTTP/1.1\r\nHost: a\r\nX: b\r\n c\r\n\r\n"), 400);
  EXPECT_EQ(StatusOf("GET / HTTP/1.1\r\nHost: a\r\nX : b\r\n\r\n"), 400);
  EXPECT_EQ(StatusOf("GET / HTTP/1.1\nHost: a\r\n\r\n"), 400);
  EXPECT_EQ(StatusOf("GET / HTTP/1.1\r\nHost: a\r\nX: b\rc\r\n\r\n"), 400);
  EXPECT_EQ(StatusOf(std::string_view("GET / HTTP/1.1\r\nHost: a\r\nX: b\0c\r\n\r\n", 40)), 400);
  EXPECT_EQ(StatusOf("GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n"), 400);
  EXPECT_EQ(StatusOf("GET / HTTP/1.1\r\n\r\n"), 400);
}

TEST(HeadParser, RefusesMalformedRequestLines) {
  EXPECT_EQ(StatusOf("GET /\r\n"), 400);
  EXPECT_EQ(StatusOf("GET  /a b HTTP/1.1\r\n"), 400);
  EXPECT_EQ(StatusOf("G@T / HTTP/1.1\r\n"), 400);
  EXPECT_EQ(StatusOf("GET / HTTP/2.0\r\n"), 505);
  EXPECT_EQ(StatusOf("GET /\xc3\xa4 HTTP/1.1\r\n"), 400);
  EXPECT_EQ(StatusOf("GET " + std::string(20000, '/')), 414);
  EXPECT_EQ(StatusOf("GET / HTTP/1.1\r\nX: " + std::string(20000, 'a')), 431);
}

TEST(HeadParser, TakesTheAbsoluteForm) {
  HeadParser parser;
  ASSERT_EQ(ParseWhole("GET http://a:1/x?y HTTP/1.1\r\nHost: a:1\r\n\r\n", parser), State::kDone);
  EXPECT_EQ(parser.Take().target, "/x?y");
}

TEST(HeadParser, KnowsWhetherTheConnectionStays) {
  HeadParser parser;
  ASSERT_EQ(ParseWhole("GET / HTTP/1.1\r\nHost: a\r\nConnection: x, Close\r\n\r\n", parser), State::kDone);
  EXPECT_FALSE(parser.Take().keep_alive);
  ASSERT_EQ(ParseWhole("GET / HTTP/1.0\r\n\r\n", parser), State::kDone);
  EXPECT_FALSE(parser.Take().keep_alive);
}

struct Decoded {
  ChunkedDecoder::State state;
  std::string data;
};

Decoded Decode(std::string_view text, size_t step, ChunkedDecoder& decoder) {
  std::string data;
  while (!text.empty() && decoder.state() == ChunkedDecoder::State::kNeedMore) {
    const std::string_view piece = text.substr(0, step);
    size_t taken = 0;
    if (decoder.data_remaining() > 0) {
      taken = std::min<size_t>(piece.size(), decoder.data_remaining());
      data.append(piece.substr(0, taken));
      decoder.ConsumeData(static_cast<int64_t>(taken));
    } else {
      taken = decoder.FeedFraming(piece);
    }
    text.remove_prefix(taken);
  }
  return {decoder.state(), data};
}

TEST(ChunkedDecoder, ReadsChunksInPiecesOfAnySize) {
  const std::string text = "5;chunk-signature=ab\r\nhello\r\n6\r\n world\r\n0\r\nx-amz-checksum-crc32c: AAAA\r\n\r\n";
  for (size_t step = 1; step <= text.size(); ++step) {
    ChunkedDecoder decoder;
    const Decoded decoded = Decode(text, step, decoder);
    ASSERT_EQ(decoded.state, ChunkedDecoder::State::kDone) << step << decoder.error();
    EXPECT_EQ(decoded.data, "hello world");
    EXPECT_EQ(decoder.trailers().Find("X-Amz-Checksum-Crc32c"), "AAAA");
  }
}

TEST(ChunkedDecoder, RefusesMalformedChunks) {
  for (const std::string_view text :
       {"\r\n", "-5\r\n", "+5\r\n", "0x5\r\n", " 5\r\n", "5 \r\n", "5\n", "1234567890abcdef0\r\n", "2\r\nabc\r\n",
        "0\r\nbad trailer\r\n", "0\r\nA: b\n", "5;\x01\r\n", "g\r\n"}) {
    ChunkedDecoder decoder;
    EXPECT_EQ(Decode(text, 3, decoder).state, ChunkedDecoder::State::kError) << text;
  }
}

}  // namespace
}  // namespace assay::http
