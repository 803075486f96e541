// What stores that lie in their lists are answered.
#include "storage/list_checks.h"

#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "storage/list_parallel.h"
#include "storage/lying_store.h"

namespace assay::storage {
namespace {

using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

ListPage PageOf(const std::vector<std::string>& keys, const std::vector<std::string>& prefixes = {}) {
  ListPage page;
  for (const std::string& key : keys) {
    page.objects.push_back({.key = key});
  }
  page.prefixes = prefixes;
  return page;
}

TEST(CheckListPage, TakesWhatWasAskedFor) {
  EXPECT_THAT(CheckListPage({}, PageOf({"\n", "a", "a/b", "\xC3\xA9"})), IsOk());
  EXPECT_THAT(CheckListPage({.prefix = "p/", .delimiter = "/"}, PageOf({"p/", "p/a", "p/c"}, {"p/b/", "p/d/"})),
              IsOk());
  EXPECT_THAT(CheckListPage({.delimiter = "/", .start_after = "p/x"}, PageOf({"q"}, {"p/", "r/"})), IsOk());
}

TEST(CheckListPage, RefusesEverythingElse) {
  const std::string nul("a\0b", 3);
  for (const std::string& key : {std::string("other"), std::string("p"), std::string(), nul, std::string("p/\xff"),
                                 "p/" + std::string(1100, 'x'), std::string("p/a/b"), std::string("p/A")}) {
    EXPECT_FALSE(CheckListPage({.prefix = "p/", .delimiter = "/", .start_after = "p/B"}, PageOf({key})).ok()) << key;
  }
  EXPECT_FALSE(CheckListPage({}, PageOf({"b", "a"})).ok());
  EXPECT_FALSE(CheckListPage({}, PageOf({"a", "a"})).ok());
  EXPECT_FALSE(CheckListPage({}, PageOf({}, {"a/"})).ok());
  for (const std::string prefix : {"q/", "p/", "p/a", "p/a/b/"}) {
    EXPECT_FALSE(CheckListPage({.prefix = "p/", .delimiter = "/"}, PageOf({}, {prefix})).ok()) << prefix;
  }
  EXPECT_FALSE(CheckListPage({.delimiter = "/", .start_after = "b"}, PageOf({}, {"a/"})).ok());
  ListPage again = PageOf({"a"});
  again.next_page_token = "t";
  EXPECT_FALSE(CheckListPage({.page_token = "t"}, again).ok());
}

TEST(CheckNextKey, IsBehindThePageAndBelowThePrefix) {
  const auto check = [](const std::string& next, ListPage page, const ListOptions& options) {
    page.next_page_token = next;
    return CheckNextKey(options, page);
  };
  const ListPage page = PageOf({"p/b"}, {"p/c/"});
  for (const std::string next : {"", "p/c/x", "p/d"}) {
    EXPECT_THAT(check(next, page, {.prefix = "p/"}), IsOk()) << next;
  }
  for (const std::string next : {"p/a", "p/b", "p/c", "q", "o"}) {
    EXPECT_FALSE(check(next, page, {.prefix = "p/"}).ok()) << next;
  }
  EXPECT_FALSE(check("p/a", {}, {.prefix = "p/", .start_after = "p/a"}).ok());
}

TEST(PageTokens, AListLeadsOnForSoManyPagesOnly) {
  PageTokens tokens;
  for (size_t page = 0; page < kMostPages; ++page) {
    ASSERT_THAT(tokens.Take("t" + std::to_string(page)), IsOk());
  }
  EXPECT_THAT(tokens.Take("last").message(), HasSubstr("leads on and on"));
  tokens.Progress();
  EXPECT_THAT(tokens.Take("t1"), IsOk());
  EXPECT_THAT(tokens.Take("t1").message(), HasSubstr("leads back"));
}

LyingStore::Answer Always(std::string body) {
  return [body = std::move(body)](const http::RequestHead&, std::string_view) { return http::TextResponse(200, body); };
}

struct Dialects {
  const char* uri;
  std::string (*list)(const std::vector<std::string>& keys, const std::string& next);
};

std::string XmlList(const std::vector<std::string>& keys, const std::string& next) {
  std::string text = "<ListBucketResult><IsTruncated>" + std::string(next.empty() ? "false" : "true") +
                     "</IsTruncated><NextContinuationToken>" + next + "</NextContinuationToken>";
  for (const std::string& key : keys) {
    text += "<Contents><Key>" + key + "</Key><Size>1</Size><ETag>e</ETag></Contents>";
  }
  return text + "</ListBucketResult>";
}

std::string Joined(const std::vector<std::string>& keys, const std::string& before, const std::string& after) {
  std::string text;
  for (const std::string& key : keys) {
    text += (text.empty() ? "" : ",") + before + key + after;
  }
  return text;
}

std::string GcsList(const std::vector<std::string>& keys, const std::string& next) {
  return R"({"items":[)" + Joined(keys, R"({"name":")", R"(","size":"1","generation":"1"})") + "]" +
         (next.empty() ? "" : R"(,"nextPageToken":")" + next + '"') + "}";
}

std::string OciList(const std::vector<std::string>& keys, const std::string& next) {
  return R"({"objects":[)" + Joined(keys, R"({"name":")", R"(","size":1,"etag":"e"})") + "]" +
         (next.empty() ? "" : R"(,"nextStartWith":")" + next + '"') + "}";
}

const Dialects kDialects[] = {{"s3://b/", XmlList}, {"gs://b/", GcsList}, {"oci://b@n/", OciList}};

TEST(LyingLists, KeysOutsideThePrefixAreAnErrorInEveryDialect) {
  for (const Dialects& dialect : kDialects) {
    LyingStore honest(dialect.uri, Always(dialect.list({"p/a", "p/b"}, "")));
    EXPECT_THAT(honest.store().List({.prefix = "p/"}).status(), IsOk()) << dialect.uri;
    for (const std::string key : {"other", "p", "."}) {
      LyingStore lying(dialect.uri, Always(dialect.list({"p/a", key}, "")));
      const Status status = lying.store().List({.prefix = "p/"}).status();
      EXPECT_THAT(status, HasCode(ErrorCode::kIo)) << dialect.uri << key;
      EXPECT_THAT(status.message(), HasSubstr("names '" + key + "', which does not begin with 'p/'"));
      EXPECT_EQ(lying.requests(), 1);
    }
  }
}

TEST(LyingLists, AListThatLeadsNowhereIsAnError) {
  const std::string head = "<ListBucketResult><Contents><Key>a</Key><Size>1</Size></Contents>";
  for (const std::string& rest :
       {std::string("<IsTruncated>true</IsTruncated>"), std::string("<IsTruncated>yes</IsTruncated>"),
        std::string("<IsTruncated>true</IsTruncated><NextMarker>a</NextMarker>")}) {
    LyingStore lying("s3://b/", Always(head + rest + "</ListBucketResult>"));
    EXPECT_THAT(lying.store().List({}).status().message(), HasSubstr("does not say where"));
  }
  LyingStore gcs("gs://b/", Always(R"({"items":[],"nextPageToken":7})"));
  EXPECT_THAT(gcs.store().List({}).status().message(), HasSubstr("nextPageToken is no text"));
  LyingStore oci("oci://b@n/", Always(R"({"objects":[],"nextStartWith":{}})"));
  EXPECT_THAT(oci.store().List({}).status().message(), HasSubstr("nextStartWith is no text"));
}

TEST(LyingLists, AListWithoutAnEndIsAnErrorInEveryDialect) {
  for (const Dialects& dialect : kDialects) {
    LyingStore same(dialect.uri, Always(dialect.list({"a"}, "t")));
    const auto ignore = [](const ListPage&) { return Status::Ok(); };
    EXPECT_FALSE(ListInParallel(same.store(), {}, 1, ignore).ok()) << dialect.uri;
    EXPECT_FALSE(ListInParallel(same.store(), {}, 8, ignore).ok()) << dialect.uri;
    // Two pages without keys that lead to each other.
    LyingStore circle(dialect.uri, [&](const http::RequestHead& head, std::string_view) {
      return http::TextResponse(200, dialect.list({}, head.target.find("=t2") == std::string::npos ? "t2" : "t1"));
    });
    EXPECT_THAT(ListInParallel(circle.store(), {}, 1, ignore).message(), HasSubstr("leads back"));
    EXPECT_THAT(ListInParallel(circle.store(), {}, 8, ignore).message(), HasSubstr("leads back"));
    EXPECT_LT(circle.requests(), 20);
  }
}

TEST(LyingLists, APrefixThatComesAgainAndAgainIsTakenOnce) {
  int requests = 0;
  LyingStore lying("gs://b/", [&requests](const http::RequestHead&, std::string_view) {
    return http::TextResponse(
        200, R"({"items":[],"prefixes":["p/"],"nextPageToken":"t)" + std::to_string(++requests) + "\"}");
  });
  int prefixes = 0;
  const auto count = [&prefixes](const ListPage& page) {
    prefixes += static_cast<int>(page.prefixes.size());
    return Status::Ok();
  };
  EXPECT_THAT(ListInParallel(lying.store(), {.delimiter = "/"}, 1, count).message(), HasSubstr("leads on and on"));
  EXPECT_EQ(prefixes, 1);
}

TEST(LyingLists, APrefixBehindALaterOneIsAnError) {
  LyingStore lying("gs://b/", [](const http::RequestHead& head, std::string_view) {
    const bool second = head.target.find("pageToken") != std::string::npos;
    return http::TextResponse(200, second ? R"({"prefixes":["p/"]})" : R"({"prefixes":["q/"],"nextPageToken":"t"})");
  });
  const auto ignore = [](const ListPage&) { return Status::Ok(); };
  EXPECT_THAT(ListInParallel(lying.store(), {.delimiter = "/"}, 1, ignore).message(),
              HasSubstr("rolls up 'p/', which lies before 'q/'"));
}

TEST(LyingLists, AnOciListGoesOnBelowItsPrefixAndBehindItsKeys) {
  for (const std::string next : {"p/a", "other/z", "q"}) {
    LyingStore lying("oci://b@n/", Always(OciList({"p/a", "p/b"}, next)));
    EXPECT_THAT(lying.store().List({.prefix = "p/"}).status(), HasCode(ErrorCode::kIo)) << next;
  }
  LyingStore honest("oci://b@n/", Always(OciList({"p/a", "p/b"}, "p/c")));
  EXPECT_THAT(honest.store().List({.prefix = "p/"}).status(), IsOk());
}

TEST(LyingLists, DepthWithoutEndIsRefusedInEveryDialect) {
  constexpr size_t kDepth = 100'000;
  const auto nested = [](const std::string& open, const std::string& close) {
    std::string text;
    for (size_t i = 0; i < kDepth; ++i) {
      text += open;
    }
    for (size_t i = 0; i < kDepth; ++i) {
      text += close;
    }
    return text;
  };
  const std::string json = nested("[", "]");
  const std::string xml = nested("<a b='/>'>", "</a>");
  for (const std::string& body :
       {R"({"items":)" + json + "}", R"({"objects":)" + json + "}", R"({"error":)" + json + "}",
        R"({"code":)" + json + "}", "<ListBucketResult>" + xml + "</ListBucketResult>", "<Error>" + xml + "</Error>"}) {
    for (const Dialects& dialect : kDialects) {
      for (const int status : {200, 500}) {
        LyingStore store(dialect.uri,
                         [&](const http::RequestHead&, std::string_view) { return http::TextResponse(status, body); });
        EXPECT_THAT(store.store().List({}).status(), HasCode(ErrorCode::kIo));
        EXPECT_FALSE(store.store().ListUploads("").ok());
      }
    }
  }
}

TEST(LyingLists, UploadsAreHeldAgainstThePrefixAndFollowedOnce) {
  const auto xml = [](const std::string& inner) {
    return Always("<ListMultipartUploadsResult>" + inner + "</ListMultipartUploadsResult>");
  };
  const std::string upload = "<Upload><Key>p/a</Key><UploadId>u</UploadId></Upload>";
  for (const char* uri : {"s3://b/", "gs://b/"}) {
    const auto uploads = [uri](const LyingStore::Answer& answer) {
      return LyingStore(uri, answer).store().ListUploads("p/").status();
    };
    EXPECT_THAT(uploads(xml(upload)), IsOk());
    EXPECT_FALSE(uploads(xml("<Upload><Key>other</Key><UploadId>u</UploadId></Upload>")).ok());
    EXPECT_FALSE(uploads(xml("<Upload><Key>p/a</Key></Upload>")).ok());
    EXPECT_THAT(uploads(xml(upload + "<IsTruncated>true</IsTruncated>")).message(), HasSubstr("does not say where"));
    EXPECT_THAT(uploads(xml(upload + "<IsTruncated>true</IsTruncated><NextKeyMarker>p/a</NextKeyMarker>")).message(),
                HasSubstr("leads back"));
  }
  LyingStore oci("oci://b@n/", [](const http::RequestHead&, std::string_view) {
    http::ServerResponse answer = http::TextResponse(200, R"([{"object":"a","uploadId":"u"}])");
    answer.headers.Add("opc-next-page", "same");
    return answer;
  });
  EXPECT_THAT(oci.store().ListUploads("").status().message(), HasSubstr("leads back"));
}

TEST(LyingDeletes, EveryKeyIsAccountedFor) {
  const std::vector<std::string> keys = {"a", " ", "c"};
  const auto removed = [&keys](const std::string& inner) {
    LyingStore store("s3://b/", Always("<DeleteResult>" + inner + "</DeleteResult>"));
    return store.store().RemoveMany(keys);
  };
  const std::string all =
      "<Deleted><Key>a</Key></Deleted><Deleted><Key> </Key></Deleted><Deleted><Key>c</Key></Deleted>";
  EXPECT_THAT(removed(all), Each(IsOk()));
  EXPECT_THAT(removed("<Deleted><Key>a</Key></Deleted><Error><Key> </Key><Code>AccessDenied</Code></Error>"),
              ElementsAre(IsOk(), HasCode(ErrorCode::kIo), HasCode(ErrorCode::kIo)));
  EXPECT_THAT(removed(""), Each(HasCode(ErrorCode::kIo)));
  EXPECT_THAT(removed(all + "<Error><Key>other</Key><Code>AccessDenied</Code></Error>"), Each(HasCode(ErrorCode::kIo)));
  EXPECT_THAT(removed(all + "<Error><Key>c</Key></Error>"), ElementsAre(IsOk(), IsOk(), Not(IsOk())));
}

/// Of a store that has removed "a", never had "b", and is too busy for "c" in its first `busy` answers; `asked` gets
/// the bodies of the requests.
std::vector<Status> RemoveOfBusy(int busy, std::vector<std::string>& asked) {
  const std::vector<std::string> keys = {"a", "b", "c"};
  LyingStore store(
      "s3://b/",
      [&](const http::RequestHead& head, std::string_view body) {
        asked.emplace_back(body);
        const bool first = asked.size() == 1;
        const bool too_busy = static_cast<int>(asked.size()) <= busy;
        return http::TextResponse(
            200,
            std::string("<DeleteResult>") + (first ? "<Deleted><Key>a</Key></Deleted>" : "") +
                (first ? "<Error><Key>b</Key><Code>NoSuchKey</Code></Error>" : "") +
                (too_busy ? "<Error><Key>c</Key><Code>SlowDown</Code></Error>" : "<Deleted><Key>c</Key></Deleted>") +
                "</DeleteResult>");
      },
      {}, 3);
  return store.store().RemoveMany(keys);
}

TEST(LyingDeletes, KeysThatFailedJustThenAreNamedAgainTogether) {
  std::vector<std::string> asked;
  EXPECT_THAT(RemoveOfBusy(2, asked), Each(IsOk()));
  ASSERT_EQ(asked.size(), 3u);
  EXPECT_THAT(asked[1], AllOf(HasSubstr("<Key>c</Key>"), Not(HasSubstr("<Key>a</Key>"))));
}

TEST(LyingDeletes, AStoreThatStaysBusyIsNotAskedForEver) {
  std::vector<std::string> asked;
  const std::vector<Status> ends = RemoveOfBusy(100, asked);
  EXPECT_THAT(ends, ElementsAre(IsOk(), IsOk(), HasCode(ErrorCode::kIo)));
  EXPECT_THAT(ends[2].message(),
              AllOf(StartsWith("cannot remove s3://b/c: "), HasSubstr("SlowDown"), HasSubstr("3 attempts")));
  EXPECT_EQ(asked.size(), 3u);
}

TEST(LyingDeletes, ADeadlineIsToldOfEachKeyByItsOwnName) {
  StoreOptions options;
  options.deadline_seconds = 0.1;
  LyingStore store(
      "s3://b/", [](const http::RequestHead&, std::string_view) { return http::TextResponse(503, ""); }, options, 100);
  const std::vector<std::string> keys = {"a", "b"};
  const std::vector<Status> ends = store.store().RemoveMany(keys);
  for (size_t i = 0; i < keys.size(); ++i) {
    EXPECT_THAT(ends[i], HasCode(ErrorCode::kIo));
    EXPECT_THAT(ends[i].message(), StartsWith("cannot remove s3://b/" + keys[i] + ": the deadline of the operation"));
  }
}

TEST(LyingDeletes, ARequestThatIsRefusedIsToldOfEachKeyByItsOwnName) {
  LyingStore store("s3://b/", [](const http::RequestHead&, std::string_view) {
    return http::TextResponse(403, "<Error><Code>AccessDenied</Code></Error>");
  });
  const std::vector<std::string> keys = {"a", "b"};
  const std::vector<Status> ends = store.store().RemoveMany(keys);
  for (size_t i = 0; i < keys.size(); ++i) {
    EXPECT_THAT(ends[i], HasCode(ErrorCode::kPermissionDenied));
    EXPECT_THAT(ends[i].message(), StartsWith("cannot remove s3://b/" + keys[i] + ": 403 AccessDenied"));
  }
}

}  // namespace
}  // namespace assay::storage
