bin/toolhost --plugins bin/plugins list
bin/toolhost --plugins bin/plugins describe wordcount --schema
bin/toolhost --plugins bin/plugins call wordcount '{"text": "one two three"}'
printf '{"text": "one two"}' | bin/toolhost --plugins bin/plugins call wordcount --stream --events
