#include "report/html.h"

#include <gtest/gtest.h>

namespace assay::report {
namespace {

TEST(EscapeHtmlTest, ReplacesWhatMarkupIsMadeOf) {
  EXPECT_EQ(EscapeHtml("<a href=\"x\">'&'</a>"), "&lt;a href=&quot;x&quot;&gt;&#39;&amp;&#39;&lt;/a&gt;");
}

TEST(EscapeHtmlTest, KeepsUtf8AndReplacesWhatIsNone) {
  EXPECT_EQ(EscapeHtml("\u00d7 \u4e2d \U0001F600"), "\u00d7 \u4e2d \U0001F600");
  EXPECT_EQ(EscapeHtml("a\xff"
                       "b\x80"),
            "a\uFFFD"
            "b\uFFFD");
  EXPECT_EQ(EscapeHtml("\xe4\xb8"), "\uFFFD\uFFFD") << "a cut character";
  EXPECT_EQ(EscapeHtml("\xc0\xaf"), "\uFFFD\uFFFD") << "an overlong slash";
  EXPECT_EQ(EscapeHtml("\xed\xa0\x80"), "\uFFFD\uFFFD\uFFFD") << "a surrogate";
}

TEST(EscapeHtmlTest, ReplacesControlCharacters) {
  EXPECT_EQ(EscapeHtml(std::string_view("a\0b\x1b[31m\tc\n", 11)),
            "a\uFFFD"
            "b\uFFFD[31m\tc\n");
}

TEST(MarkupTest, NestsAndClosesWhatIsOpen) {
  Markup html;
  html.Open("ul", {{"class", "a\"b"}}).Element("li", "1 < 2").Open("li").Empty("br");
  EXPECT_EQ(std::move(html).Finish(), "<ul class=\"a&quot;b\"><li>1 &lt; 2</li><li><br/></li></ul>");
}

TEST(MarkupTest, IsTheSameAsData) {
  Markup html;
  html.Text("a & b")
      .Raw("<hr/>")
      .Open("ul", {{"class", "c"}, {"id", ""}})
      .Element("li", "1 < 2")
      .Open("li")
      .Empty("br");
  EXPECT_EQ(std::move(html).Pieces(),
            nlohmann::json::parse(R"(["a & b", ["ul", {"class": "c"}, ["li", {}, "1 < 2"], ["li", {}, ["br", {}]]]])"));
}

TEST(MarkupTest, LeavesOutAttributesWithoutValue) {
  Markup html;
  html.Empty("path", {{"class", ""}, {"d", "M0,0"}});
  EXPECT_EQ(html.text(), "<path d=\"M0,0\"/>");
}

}  // namespace
}  // namespace assay::report
