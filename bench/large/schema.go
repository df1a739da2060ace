package large

// Schema is a schema as a busy service's API has it: 40 properties over nested objects and lists, with $defs, enums, patterns,
// bounds and alternatives.
const Schema = `{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object",
"$defs":{
 "person":{"type":"object","properties":{"name":{"type":"string","minLength":1,"maxLength":80},"id":{"type":"integer","minimum":1},"email":{"type":["string","null"]},"kind":{"enum":["member","guest","robot"]}},"required":["name","id"],"additionalProperties":false},
 "money":{"type":"object","properties":{"amount":{"type":"number","minimum":0},"currency":{"type":"string","pattern":"^[A-Z]{3}$"}},"required":["amount","currency"],"additionalProperties":false},
 "place":{"type":"object","properties":{"street":{"type":"string"},"city":{"type":"string","minLength":1},"country":{"type":"string","pattern":"^[A-Z]{2}$"},"point":{"type":"array","items":{"type":"number"},"minItems":2,"maxItems":2},"contact":{"$ref":"#/$defs/person"}},"required":["city","country"],"additionalProperties":false},
 "item":{"type":"object","properties":{"sku":{"type":"string","pattern":"^[A-Z]+-[0-9]{4}$"},"count":{"type":"integer","minimum":1},"price":{"$ref":"#/$defs/money"},"state":{"enum":["open","packed","sent"]}},"required":["sku","count","price"],"additionalProperties":false}},
"properties":{
 "title":{"type":"string","minLength":1,"maxLength":200},"number":{"type":"integer","minimum":1},"state":{"enum":["draft","open","closed"]},"urgent":{"type":"boolean"},
 "buyer":{"$ref":"#/$defs/person"},"seller":{"$ref":"#/$defs/person"},"watchers":{"type":"array","items":{"$ref":"#/$defs/person"},"maxItems":20},
 "from":{"$ref":"#/$defs/place"},"to":{"$ref":"#/$defs/place"},
 "items":{"type":"array","items":{"$ref":"#/$defs/item"},"minItems":1,"maxItems":100},"total":{"$ref":"#/$defs/money"},
 "payment":{"anyOf":[{"type":"null"},{"type":"object","properties":{"iban":{"type":"string","minLength":15}},"required":["iban"],"additionalProperties":false},{"type":"object","properties":{"card":{"type":"string","pattern":"^[0-9]{4}$"},"until":{"type":"string"}},"required":["card"],"additionalProperties":false}]},
 "tags":{"type":"array","items":{"type":"string"},"uniqueItems":true},"notes":{"type":"string","maxLength":2000},"due":{"type":["string","null"]},"weight":{"type":"number","exclusiveMinimum":0},
 "parcels":{"type":"integer","minimum":1},"carrier":{"enum":["post","van","rail"]},"insured":{"type":"boolean"},"channel":{"type":"string","maxLength":20},"version":{"const":2},"reference":{"type":["string","null"],"maxLength":40}},
"required":["title","number","buyer","items","total"],"additionalProperties":false}`

// Document is one that fits, of about 2 KB.
const Document = `{"title":"Spare parts for the mill","number":4711,"state":"open","urgent":false,` +
	`"buyer":{"name":"Ada","id":17,"email":"ada@example.com","kind":"member"},"seller":{"name":"Charles","id":18,"email":null,"kind":"guest"},` +
	`"watchers":[{"name":"Grace","id":19,"kind":"member"},{"name":"R2","id":20,"email":null,"kind":"robot"},{"name":"Edsger","id":21}],` +
	`"from":{"street":"1 Store Street","city":"London","country":"GB","point":[51.52,-0.13],"contact":{"name":"Charles","id":18}},` +
	`"to":{"street":"2 Rue de la Paix","city":"Paris","country":"FR","point":[48.87,2.33],"contact":{"name":"Ada","id":17,"email":"ada@example.com"}},` +
	`"items":[` + line + `,` + line + `,` + line + `,` + line + `,` + line + `,` + line + `,` + line + `,` + line + `,` + line + `],` +
	`"total":{"amount":1124.55,"currency":"EUR"},"payment":{"card":"4242","until":"2027-03"},"tags":["mill","spare","steel","2026"],` +
	`"notes":"Please deliver to the yard behind the mill.\nThe gate is open on weekdays from eight to four.","due":"2026-12-24","weight":48.5,` +
	`"parcels":2,"carrier":"rail","insured":true,"channel":"web","version":2,"reference":null}`

const line = `{"sku":"COG-0042","count":3,"price":{"amount":124.95,"currency":"EUR"},"state":"packed"}`
