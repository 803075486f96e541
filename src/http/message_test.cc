#include "http/message.h"

#include <gtest/gtest.h>

#include <array>

namespace assay::http {
namespace {

TEST(HeadersTest, NamesCompareWithoutCase) {
  Headers headers;
  headers.Add("Content-Type", "text/plain");
  EXPECT_EQ(headers.Find("content-type"), "text/plain");
  EXPECT_FALSE(headers.Has("content-typ"));
}

TEST(HeadersTest, SetReplacesAllOfAName) {
  Headers headers;
  headers.Add("x-a", "1");
  headers.Add("X-A", "2");
  headers.Add("x-b", "3");
  headers.Set("x-A", "4");
  ASSERT_EQ(headers.all().size(), 2u);
  EXPECT_EQ(headers.Find("x-a"), "4");
}

TEST(RequestTest, BodyBytesAddUp) {
  const std::array<std::byte, 5> five{};
  const std::array<std::byte, 2> two{};
  Request request;
  request.body = {five, two};
  EXPECT_EQ(request.body_bytes(), 7);
}

}  // namespace
}  // namespace assay::http
