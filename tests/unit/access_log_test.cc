// Access logs in the forms that servers write them: the samples are those of their documentation, addresses and all.
#include "replay/logs/access_log.h"

#include <catch2/catch.hpp>
#include <fstream>
#include <vector>

#include "replay/analysis/access_reader.h"
#include "replay/import/load_trace.h"
#include "tests/unit/temporary_directory.h"

namespace cffs::replay::test {
namespace {

using cffs::test::TemporaryDirectory;

// caddyserver.com/docs/caddyfile/directives/log, the fields that matter here
constexpr const char* kCaddy =
    R"({"level":"info","ts":1646861401.5241024,"logger":"http.log.access","msg":"handled request","request":{"remote_ip":"127.0.0.1","remote_port":"41342","client_ip":"127.0.0.1","proto":"HTTP/2.0","method":"GET","host":"localhost","uri":"/a%20b.html?q=1","headers":{"User-Agent":["curl/7.82.0"],"Accept":["*/*"]}},"bytes_read":0,"user_id":"","duration":0.000929675,"size":10900,"status":200})";
// nginx: log_format x escape=json '{...}', by the names of its variables
constexpr const char* kNginx =
    R"({"time_iso8601":"2022-03-09T22:30:01+01:00","remote_addr":"192.0.2.7","remote_user":"","request":"GET /d/\"x\".css HTTP/1.1","status":"200","body_bytes_sent":"512","http_user_agent":"Mozilla/5.0"})";
// docs.aws.amazon.com, Amazon S3 server access log format
constexpr const char* kS3 =
    R"(79a59df900b949e55d96a1e698fbacedfd6e09d98eacf8f8d5218e7cd47ef2be amzn-s3-demo-bucket1 [06/Feb/2019:00:00:38 +0000] 192.0.2.3 79a59df900b949e55d96a1e698fbacedfd6e09d98eacf8f8d5218e7cd47ef2be DD6CC733AEXAMPLE REST.GET.OBJECT photos/2019/08/puppy.jpg "GET /amzn-s3-demo-bucket1/photos/2019/08/puppy.jpg HTTP/1.1" 206 - 1024 4406 - 28 "-" "S3Console/0.4" - 10S62Zv81kBW7BB6SX4XJ48o6kpcl6LPwEoizZQQxJd5qDSCTLX0TgS37kYUBKQW3+bPdrg1234= SigV4 ECDHE-RSA-AES128-SHA AuthHeader amzn-s3-demo-bucket1.s3.us-west-1.amazonaws.com TLSV1.1 - -)";
constexpr const char* kS3Bucket =
    R"(79a5 amzn-s3-demo-bucket1 [06/Feb/2019:00:00:38 +0000] 192.0.2.3 79a5 3E57427F3EXAMPLE REST.GET.VERSIONING - "GET /amzn-s3-demo-bucket1?versioning HTTP/1.1" 200 - 113 - 7 - "-" "S3Console/0.4" -)";
// learn.microsoft.com, W3C logging of IIS
constexpr const char* kIisFields =
    "#Fields: date time c-ip cs-username s-ip s-port cs-method cs-uri-stem cs-uri-query sc-status "
    "cs(User-Agent)";
constexpr const char* kIis =
    "2002-05-02 17:42:15 172.22.255.255 - 172.30.255.255 80 GET /images/picture.jpg - 200 "
    "Mozilla/4.0+(compatible;MSIE+5.5;+Windows+2000+Server)";
// docs.aws.amazon.com, CloudFront standard logs: its 33 fields
constexpr const char* kCloudFrontFields =
    "#Fields: date time x-edge-location sc-bytes c-ip cs-method cs(Host) cs-uri-stem sc-status cs(Referer) "
    "cs(User-Agent) cs-uri-query cs(Cookie) x-edge-result-type x-edge-request-id x-host-header cs-protocol "
    "cs-bytes time-taken x-forwarded-for ssl-protocol ssl-cipher x-edge-response-result-type "
    "cs-protocol-version fle-status fle-encrypted-fields c-port time-to-first-byte "
    "x-edge-detailed-result-type sc-content-type sc-content-len sc-range-start sc-range-end";
constexpr const char* kCloudFront =
    "2019-12-04\t21:02:31\tLAX1\t392\t192.0.2.100\tGET\td111111abcdef8.cloudfront.net\t/index.html\t200\t-\t"
    "Mozilla/"
    "5.0%20(Windows%20NT%2010.0)\t-\t-\tHit\tSOX4xwn4XV6Q==\td111111abcdef8.cloudfront.net\thttps\t23\t"
    "0.001\t-\tTLSv1.2\tECDHE-RSA-AES128-GCM-SHA256\tHit\tHTTP/2.0\t-\t-\t11040\t0.001\tHit\ttext/"
    "html\t78\t-\t-";
// The same as standard logging (v2) delivers it as JSON: every value a string.
constexpr const char* kCloudFrontJson =
    R"x({"date":"2019-12-04","time":"21:02:31","x-edge-location":"LAX1","sc-bytes":"392","c-ip":"192.0.2.100",)x"
    R"x("cs-method":"GET","cs(Host)":"d111111abcdef8.cloudfront.net","cs-uri-stem":"/index.html",)x"
    R"x("sc-status":"200","cs(User-Agent)":"Mozilla/5.0%20(Windows%20NT%2010.0)","sc-content-len":"78"
})x";

}  // namespace

TEST_CASE("requests are read from JSON as Caddy and nginx write it") {
  AccessLog log;
  const auto caddy = log.parse(kCaddy);
  REQUIRE(caddy);
  REQUIRE(log.format() == LogFormat::json);
  REQUIRE(caddy->client == "127.0.0.1");
  REQUIRE(caddy->method == "GET");
  REQUIRE(path_of_target(caddy->target) == "/a%20b.html");
  REQUIRE(caddy->status == 200);
  REQUIRE(caddy->size == 10900);
  REQUIRE(caddy->time_ms == 1646861401524);
  REQUIRE(caddy->agent == "curl/7.82.0");
  const auto nginx = log.parse(kNginx);
  REQUIRE(nginx);
  REQUIRE(nginx->client == "192.0.2.7");
  REQUIRE(nginx->method == "GET");
  REQUIRE(nginx->target == "/d/\"x\".css");
  REQUIRE(nginx->status == 200);
  REQUIRE(nginx->size == 512);
  REQUIRE(nginx->time_ms == 1646861401000);
  const auto other = log.parse(R"({"level":"info","msg":"serving initial configuration"})");
  REQUIRE(other);
  REQUIRE(other->method.empty());
  for (const char* bad : {"{", R"({"status":"x"})", R"({"a":1} 5)", "{\"a\":\"\xff\"}"}) {
    INFO(bad);
    REQUIRE(!log.parse(bad));
  }
  REQUIRE(log.parse(
      R"({"status":[[]],"request":{"headers":{"User-Agent":[]},"uri":5,"method":null},"ts":1e300})"));
}

TEST_CASE("W3C extended logs mean what their fields line says, with blanks or tabs") {
  AccessLog log;
  REQUIRE(log.parse(kIisFields)->method.empty());
  const auto iis = log.parse(kIis);
  REQUIRE(iis);
  REQUIRE(log.format() == LogFormat::w3c);
  REQUIRE(iis->client == "172.22.255.255");
  REQUIRE(iis->target == "/images/picture.jpg");
  REQUIRE(iis->status == 200);
  REQUIRE(iis->time_ms == 1020361335000);
  REQUIRE(!log.parse("2002-05-02 17:42:15 172.22.255.255"));
  // IIS leaves the date out where it says it once.
  AccessLog dated;
  REQUIRE(dated.parse("#Date: 2002-05-02 17:42:15"));
  REQUIRE(dated.parse("#Fields: time c-ip cs-method cs-uri-stem sc-status"));
  REQUIRE(dated.parse("17:42:15 172.22.255.255 GET /default.htm 200")->time_ms == 1020361335000);
  std::string more = kIis;
  more += " word";
  REQUIRE(!log.parse(more));
  REQUIRE(log.parse(kCloudFrontFields));
  const auto edge = log.parse(kCloudFront);
  REQUIRE(edge);
  REQUIRE(edge->client == "192.0.2.100");
  REQUIRE(edge->method == "GET");
  REQUIRE(edge->target == "/index.html");
  REQUIRE(edge->size == 78);  // of the file; 392 with the headers
  REQUIRE(edge->status == 200);
  const std::int64_t when = edge->time_ms;
  const std::string agent(edge->agent);
  AccessLog as_json;
  const auto same = as_json.parse(kCloudFrontJson);
  REQUIRE(same);
  REQUIRE(as_json.format() == LogFormat::json);
  REQUIRE(same->client == "192.0.2.100");
  REQUIRE(same->method == "GET");
  REQUIRE(same->target == "/index.html");
  REQUIRE(same->size == 78);
  REQUIRE(same->status == 200);
  REQUIRE(same->time_ms == when);
  REQUIRE(when == 1575493351000);
  REQUIRE(same->agent == agent);
  // A reply whose length was not told in advance.
  std::string unknown(kCloudFront);
  unknown.replace(unknown.find("\t78\t"), 4, "\t-\t");
  const auto chunked = log.parse(unknown);
  REQUIRE(chunked);
  REQUIRE(chunked->size == 392);
}

TEST_CASE("S3's requests are those on objects, by their keys") {
  AccessLog log;
  const auto object = log.parse(kS3);
  REQUIRE(object);
  REQUIRE(log.format() == LogFormat::s3);
  REQUIRE(object->client == "192.0.2.3");
  REQUIRE(object->method == "GET");
  REQUIRE(object->target == "/photos/2019/08/puppy.jpg");
  REQUIRE(object->status == 206);
  REQUIRE(object->size == 4406);
  REQUIRE(object->agent == "S3Console/0.4");
  REQUIRE(object->time_ms == 1549411238000);
  const auto bucket = log.parse(kS3Bucket);
  REQUIRE(bucket);
  REQUIRE(bucket->method.empty());
}

TEST_CASE("access logs of every form are recognised and become traces") {
  const TemporaryDirectory dir;
  const auto loaded = [&](const std::string& lines) {
    std::ofstream(dir.path + "/log") << lines << "\n";
    LoadReport report;
    const auto trace = load_trace({dir.path + "/log"}, {}, report);
    REQUIRE(trace);
    REQUIRE(report.malformed == 0);
    REQUIRE(trace->operations.size() == 1);
    return report.format + " " + trace->path(trace->operations[0].path);
  };
  REQUIRE(loaded(kCaddy) == "json a b.html");
  REQUIRE(loaded(kNginx) == "json d/\"x\".css");
  REQUIRE(loaded(std::string(kS3Bucket).append("\n").append(kS3)) == "s3 photos/2019/08/puppy.jpg");
  REQUIRE(loaded(std::string("#Version: 1.0\n").append(kIisFields).append("\n").append(kIis)) ==
          "w3c images/picture.jpg");
  REQUIRE(loaded(std::string(kCloudFrontFields).append("\n").append(kCloudFront)) == "w3c index.html");
}

TEST_CASE("an access log's values nested however deep are no request's") {
  constexpr int kDeep = 400'000;  // below the longest line
  const std::string deep = std::string(kDeep, '[').append("\"/a\"").append(kDeep, ']');
  AccessLog log;
  const auto request =
      log.parse(std::string(R"({"status":200,"method":["GET"],"uri":)").append(deep).append("}"));
  REQUIRE(request);
  CHECK(request->target.empty());
  CHECK(request->method == "GET");
  CHECK(!log.parse(deep));
}

TEST_CASE("sizes that no reply has are none, whatever the log's form") {
  AccessLog log;
  const std::string most = "18446744073709551615";
  for (const std::string& line :
       {R"({"status":200,"method":"GET","uri":"/a","size":)" + most + "}",
        R"(1.2.3.4 - - [10/Oct/2000:13:55:36 -0700] "GET /a HTTP/1.0" 200 )" + most,
        R"({"status":200,"method":"GET","uri":"/a","size":1125899906842625})" + std::string()}) {
    const auto request = log.parse(line);
    REQUIRE(request);
    CHECK(request->size == 0);
  }
  const auto request = log.parse(R"({"status":200,"method":"GET","uri":"/a","size":1125899906842624})");
  REQUIRE(request);
  CHECK(request->size == std::uint64_t{1} << 50);
}

TEST_CASE("what a terminal would obey is not shown of a log's lines") {
  const TemporaryDirectory dir;
  std::ofstream(dir.path + "/log") << kCaddy << "\n\x1b]0;title\x07 \xff\n";
  AccessReader reader{AccessReaderOptions()};
  REQUIRE(reader.read(dir.path + "/log", [](const grouping::Access&) {}));
  REQUIRE(reader.inputs().front().samples.size() == 1);
  CHECK(reader.inputs().front().samples.front() == "log line 2: \\x1b]0;title\\x07 \\xff");
}

TEST_CASE("lines between the requests of a log are none of its faults, also before the first request") {
  const TemporaryDirectory dir;
  const auto read = [&](const std::vector<const char*>& lines) {
    std::ofstream log(dir.path + "/log");
    for (const char* line : lines) log << line << '\n';
    log.close();
    AccessReader reader{AccessReaderOptions()};
    REQUIRE(reader.read(dir.path + "/log", [](const grouping::Access&) {}));
    return reader.inputs().front();
  };
  const LogInput s3 = read({kS3Bucket, kS3Bucket, kS3, kS3Bucket});
  CHECK(s3.format == LogFormat::s3);
  CHECK(s3.lines == 4);
  CHECK(s3.others == 3);
  CHECK(s3.malformed == 0);
  const LogInput json = read({R"({"level":"info","msg":"serving"})", kCaddy});
  CHECK(json.format == LogFormat::json);
  CHECK(json.others == 1);
  CHECK(json.malformed == 0);
  std::ofstream(dir.path + "/log") << kS3Bucket << '\n' << kS3Bucket << '\n';
  AccessReader none{AccessReaderOptions()};
  CHECK(!none.read(dir.path + "/log", [](const grouping::Access&) {}));
}

}  // namespace cffs::replay::test
