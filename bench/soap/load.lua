-- The envelopes of one case for wrk. Arguments: case, token. Prints one line:
-- requests a second, p50 and p99 in microseconds, answers that were no success.
local requests, n = {}, 0

local function envelope(body)
  return '<?xml version="1.0" encoding="UTF-8"?>\n<soap:Envelope xmlns:soap="http://schemas.xmlsoap.org/soap/envelope/" ' ..
    'xmlns:tns="urn:tidings:v1:SocialService"><soap:Body>' .. body .. '</soap:Body></soap:Envelope>'
end

function init(args)
  wrk.headers["Content-Type"] = "text/xml; charset=utf-8"
  wrk.headers["SOAPAction"] = args[1] == "get" and '"urn:tidings:v1:SocialService/GetUser"' or '"urn:tidings:v1:SocialService/CreatePost"'
  if args[2] then wrk.headers["Authorization"] = "Bearer " .. args[2] end
  for i = 0, 49 do
    local id = string.format("user-%04d", i)
    if args[1] == "get" then
      requests[i] = wrk.format("POST", nil, nil, envelope("<tns:GetUser><tns:id>" .. id .. "</tns:id></tns:GetUser>"))
    else
      requests[i] = wrk.format("POST", nil, nil, envelope("<tns:CreatePost><tns:input><tns:authorId>" .. id .. "</tns:authorId>" ..
        "<tns:title>A title of some length</tns:title><tns:body>What it says in full: a paragraph of plain text.</tns:body>" ..
        "<tns:kind>NOTE</tns:kind></tns:input></tns:CreatePost>"))
    end
  end
end

function request()
  n = n + 1
  return requests[n % 50]
end

function done(summary, latency)
  local e = summary.errors
  io.write(string.format("result %.0f %.0f %.0f %d\n", summary.requests * 1e6 / summary.duration,
    latency:percentile(50), latency:percentile(99), e.connect + e.read + e.write + e.status + e.timeout))
end
