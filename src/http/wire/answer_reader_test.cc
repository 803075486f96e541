#include "http/wire/answer_reader.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace assay::http {
namespace {

/// What is left of an answer of text.
struct Read {
  AnswerReader::State state = AnswerReader::State::kHead;
  std::string body;
  std::string detail;
  bool keeps = false;
  size_t taken = 0;
};

Read ReadAll(std::string_view text, size_t piece, bool head_only = false) {
  const ClientOptions options;
  Shared shared(options);
  Answer answer(shared);
  answer.Begin(nullptr);
  AnswerReader reader(answer);
  reader.Begin(head_only);
  Read read;
  while (read.taken < text.size()) {
    const size_t taken = reader.Feed(text.substr(read.taken, piece), 1);
    read.taken += taken;
    if (reader.state() == AnswerReader::State::kDone || reader.state() == AnswerReader::State::kFailed) {
      break;
    }
  }
  read.state = reader.state();
  read.keeps = reader.keeps_connection();
  Outcome outcome;
  answer.Conclude(outcome);
  read.detail = outcome.detail;
  read.body = answer.response().body;
  return read;
}

void ExpectBody(const std::string& text, std::string_view body, bool keeps) {
  for (const size_t piece : {size_t{1}, size_t{7}, text.size()}) {
    const Read read = ReadAll(text + "more", piece);
    EXPECT_EQ(read.state, AnswerReader::State::kDone) << text << read.detail;
    EXPECT_EQ(read.body, body);
    EXPECT_EQ(read.keeps, keeps) << text;
    EXPECT_EQ(read.taken, text.size());
  }
}

TEST(AnswerReader, ReadsEachFraming) {
  ExpectBody("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc", "abc", true);
  ExpectBody("HTTP/1.1 200\r\nContent-Length: 0\r\n\r\n", "", true);
  ExpectBody("HTTP/1.1 204 No Content\r\nContent-Length: 9\r\n\r\n", "", true);
  ExpectBody("HTTP/1.1 304 Not Modified\r\n\r\n", "", true);
  ExpectBody("HTTP/1.1 200 OK\r\ntransfer-encoding: Chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n", "ab", true);
  ExpectBody("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 404 Not Found\r\nContent-Length: 1\r\n\r\nx", "x", true);
}

TEST(AnswerReader, KnowsWhichConnectionsLast) {
  ExpectBody("HTTP/1.1 200 OK\r\nConnection: x, Close\r\nContent-Length: 1\r\n\r\na", "a", false);
  ExpectBody("HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\na", "a", false);
  ExpectBody("HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 1\r\n\r\na", "a", true);
  ExpectBody("HTTP/1.1 200 OK\r\nContent-Length: 9\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n", "a",
             false);
}

TEST(AnswerReader, OfAHeadOnlyTheHeadComes) {
  const Read read = ReadAll("HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\n", 5, true);
  EXPECT_EQ(read.state, AnswerReader::State::kDone);
  EXPECT_TRUE(read.keeps);
}

TEST(AnswerReader, RefusesWhatCanBeReadInTwoWays) {
  for (const char* text : {
           "HTTP/2 200 OK\r\n\r\n",
           "HTTP/1.1 20 OK\r\n\r\n",
           "HTTP/1.1 2000 OK\r\n\r\n",
           "HTTP/1.1 099 OK\r\n\r\n",
           "HTTP/1.1 101 Switching Protocols\r\n\r\n",
           "ICY 200 OK\r\n\r\n",
           "\r\n\r\n",
           "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\n",
           "HTTP/1.1 200 OK\r\nContent-Length: -3\r\n\r\n",
           "HTTP/1.1 200 OK\r\nContent-Length: 3,3\r\n\r\n",
           "HTTP/1.1 200 OK\r\nContent-Length: \r\n\r\n",
           "HTTP/1.1 200 OK\r\nContent-Length: 9999999999999999999\r\n\r\n",
           "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
           "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: gzip\r\n\r\n",
           "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n",
           "HTTP/1.1 200 OK\r\nno colon\r\n\r\n",
           "HTTP/1.1 200 OK\r\n folded: x\r\n\r\n",
           "HTTP/1.1 200 OK\r\na b: x\r\n\r\n",
           "HTTP/1.1 200 OK\r\na: x\x01\r\n\r\n",
           "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\n",
           "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n",
       }) {
    for (const size_t piece : {size_t{1}, size_t{1000}}) {
      const Read read = ReadAll(text, piece);
      EXPECT_EQ(read.state, AnswerReader::State::kFailed) << text;
      EXPECT_FALSE(read.detail.empty()) << text;
    }
  }
}

}  // namespace
}  // namespace assay::http
