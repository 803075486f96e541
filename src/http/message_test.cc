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

TEST(FlawOfTest, NothingEndsALineButItsEnd) {
  const auto flaw = [](const std::string& name, const std::string& value) {
    Request request = {.url = "http://h/k"};
    request.headers.Add(name, value);
    return FlawOf(request).value_or("");
  };
  EXPECT_EQ(flaw("x-amz-meta-a", "\xC3\xA9, \xff\t{}"), "");
  EXPECT_EQ(flaw("x-amz-meta-a", ""), "");
  EXPECT_EQ(flaw("x-a", "1\r\nx-goog-acl: public-read"),
            "the value of header x-a holds a control character: '1\\r\\nx-goog-acl: public-read'");
  for (const std::string value :
       {std::string("a\nb"), std::string("a\rb"), std::string("a\0b", 3), std::string("\x7f")}) {
    EXPECT_NE(flaw("x-a", value), "") << value;
  }
  for (const std::string name : {"", "a b", "a:b", "a\r\nb", "\xC3\xA9", "a\t"}) {
    EXPECT_NE(flaw(name, "v"), "") << name;
  }
  EXPECT_TRUE(FlawOf({.url = "http://h/a\r\nb"}).has_value());
  EXPECT_TRUE(FlawOf({.url = "http://h/a b"}).has_value());
}

}  // namespace
}  // namespace assay::http
